// Where answers begin and end, among the tokens of a question and a text.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lamina::reading {

// A text that is too long for the model is read in windows: the numbers of the tokens that each begins with, which are
// `room` tokens long and share `shared` with the one before.
[[nodiscard]] std::vector<size_t> window_starts(size_t tokens, size_t room, size_t shared);

// The softmax of every second value, beginning with the one at `offset`, over the tokens that count.
[[nodiscard]] std::vector<double> probabilities(std::span<const float> values, size_t offset,
                                                const std::vector<bool> &counts);

struct Span {
    size_t first, last; // tokens
    double score;
};
// The likeliest of at most `longest` tokens, best first. `many`: at most so many.
[[nodiscard]] std::vector<Span> best_spans(const std::vector<double> &begins, const std::vector<double> &ends,
                                           size_t longest, size_t many);

} // namespace lamina::reading
