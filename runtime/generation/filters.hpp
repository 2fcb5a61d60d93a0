// What is left out before a token is drawn: a list of filters, each a function.
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <limits>
#include <span>

namespace lamina::generation {

// The tokens that one may be drawn from, the likeliest first.
struct Ranked {
    std::span<double> weights;                 // proportional to their probabilities, temperature included; 0: left out
    std::span<const double> log_probabilities; // by the model, of the same tokens and those that were cut off
    size_t least = 1;                          // so many are kept, where a filter can see to it
    double chance = 0;                         // from 0 to 1, for what is decided at random
    double most_surprise = std::numeric_limits<double>::infinity(); // mirostat: in bits

    // Leaves out all but the first.
    void cut(size_t kept);
};

[[nodiscard]] double sum_of(std::span<const double> weights);

// Leaves out what the options do not keep: of all filters in their order. That of transformers' is theirs
// (generation/logits_process.py, release 5).
void leave_out(Ranked tokens, const GenerateOptions &options);

// Whether one leaves out tokens that is none of top_k, top_p and min_p.
[[nodiscard]] bool has_rare_filters(const GenerateOptions &options);

} // namespace lamina::generation
