// Rules as a network over the bytes of UTF-8. A state has edges that take a byte, and ways that take none: jumps, and
// calls of rules, after which a text goes on at another state (a recursive transition network: Woods, Transition
// Network Grammars for Natural Language Analysis, 1970).
#pragma once

#include "grammar/expression.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lamina::grammar {

struct Network {
    struct Edge {
        uint8_t first, last; // the bytes that it takes, both included
        uint32_t to;
    };
    struct Call {
        uint32_t begin; // of the rule
        uint32_t back;  // where the text goes on at the end of the rule
    };
    struct State {
        std::vector<Edge> edges{};
        std::vector<uint32_t> jumps{};
        std::vector<Call> calls{};
        bool end = false;  // of a rule
        bool tail = false; // nothing but the end of its rule follows
    };
    std::vector<State> states; // a text begins at the first
    // Bytes that no edge tells apart have the same class.
    std::array<uint8_t, 256> classes{};
    size_t class_count = 0;
};

// From every state that is left, an end can be reached. Throws Error(input) if there is no text that the rules match,
// for a rule that begins with itself, and for rules that are too large. Messages begin with `name`.
[[nodiscard]] Network network_of(const Rules &rules, const std::string &name);

} // namespace lamina::grammar
