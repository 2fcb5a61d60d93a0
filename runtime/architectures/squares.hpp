// Squares of an image's patches, whose rows become one row: pixels are shuffled into channels.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

// Of x (B, skipped + N * count, C), every `count` rows behind the first ones side by side, (B, N, C * count): each
// channel of all of them, then the next one.
[[nodiscard]] GraphWriter::Tensor rows_side_by_side(Draft &draft, GraphWriter &graph, const std::string &name,
                                                    const GraphWriter::Tensor &x, int64_t count, int64_t skipped = 0);

// The mean of every `count` rows of x, each channel times a factor, plus a summand. No factors: 1; no summands: 0.
[[nodiscard]] GraphWriter::Tensor averaged(Draft &draft, GraphWriter &graph, const std::string &name,
                                           const GraphWriter::Tensor &x, int64_t count,
                                           const std::vector<float> &factors = {},
                                           const std::vector<float> &summands = {});

// The layer norm MODULE of such rows, whose weights a file has for the channels of one row after the other.
[[nodiscard]] GraphWriter::Tensor norm_side_by_side(Draft &draft, GraphWriter &graph, const std::string &module,
                                                    const GraphWriter::Tensor &x, int64_t count, double eps);

// A matrix (outputs, count * channels) that a file has for the channels of one row after the other, as such rows have
// them.
[[nodiscard]] model::Weight side_by_side(const model::Weight &matrix, int64_t count);

} // namespace lamina::architectures
