// What a request has used.
#pragma once

#include <cstddef>

namespace lamina::serve {

struct Usage {
    size_t prompt = 0, answer = 0;    // tokens
    size_t reused = 0;                // of the prompt, from earlier requests
    size_t guessed = 0, accepted = 0; // of the answer: Hypothesis
    size_t thought = 0;               // of the answer, of what came before its text
};

} // namespace lamina::serve
