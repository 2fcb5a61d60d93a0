// The inputs of the graphs of a model that generates text, for given texts or for sample input.
#pragma once

#include "generation/sources.hpp"

#include <lamina/texts.hpp>

#include <string>
#include <vector>

namespace lamina::generation {

struct TextInputs {
    std::vector<GraphRun> graphs; // in the order in which they run
    size_t length = 0;            // tokens that a sequence may come to have
};

// The decoder is given what `session` itself makes of the texts, whole: no cache, position 0. Throws Error(usage) for a
// model that takes no text, or when there is none.
[[nodiscard]] TextInputs inputs_of_texts(detail::SessionState &session, const std::vector<std::string> &texts,
                                         Rows rows);
// The same for made-up texts or audio, which are always the same.
[[nodiscard]] TextInputs sample_inputs(detail::SessionState &session, Rows rows);

// The decoder's inputs token by token, as it is given them with a cache: all of them first, then those that change.
[[nodiscard]] std::vector<TensorMap> token_by_token(const model::Generation &g, TensorMap whole);

} // namespace lamina::generation
