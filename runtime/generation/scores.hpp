// What a decoder says of the token that follows a row.
#pragma once

#include <lamina/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace lamina::generation {

// A text gets no answer, because a score of its next token is NaN or infinite. Others get theirs.
struct NoAnswer : Error {
    using Error::Error;
};

struct Scores {
    // Candidates: the likeliest tokens, best first, and their scores; none where only all() are known. Tokens that the
    // model suppresses are not among them.
    std::span<const int32_t> tokens{};
    std::span<const float> best{};
    double sum = 0; // of exp(score - best[0]) over all tokens that are not suppressed
    size_t vocabulary = 0;
    // The scores of all tokens: logits; for a model that gives probabilities, their logarithms. Throws NoAnswer.
    std::function<std::span<float>()> all{};
};

} // namespace lamina::generation
