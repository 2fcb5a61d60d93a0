// What a Grammar holds.
#pragma once

#include "grammar/constraint.hpp"
#include "grammar/network.hpp"
#include "grammar/token_trie.hpp"

#include <lamina/grammar.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace lamina {

struct Grammar::Parts {
    std::shared_ptr<const grammar::Network> network;
    std::mutex mutex;                                                // of what follows
    std::vector<std::shared_ptr<grammar::Constraint>> constraints{}; // one for each vocabulary
};

namespace grammar {

// The grammar with a vocabulary: made once. `first`: the tokens at the beginning of a text.
[[nodiscard]] std::shared_ptr<Constraint> constraint_of(const Grammar &grammar,
                                                        const std::shared_ptr<const TokenTrie> &first,
                                                        const std::shared_ptr<const TokenTrie> &rest);

} // namespace grammar
} // namespace lamina
