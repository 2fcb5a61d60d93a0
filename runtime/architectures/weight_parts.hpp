// Weights that files hold in another layout than layers take.
#pragma once

#include "model/weights.hpp"

namespace lamina::architectures {

// Columns [part, part + 1) * columns / parts of a matrix, as the rows of one of their own (a copy, of the same dtype).
// Throws Error(input) where it is no matrix, or cannot be parted so.
[[nodiscard]] model::Weight transposed_columns(const model::Weight &matrix, int64_t part, int64_t parts);

// The same part of the rows of a tensor, without a copy.
[[nodiscard]] model::Weight part_of(const model::Weight &weight, int64_t part, int64_t parts);

// A matrix of one row. Throws Error(input) where it is none.
[[nodiscard]] model::Weight as_vector(model::Weight row);

// Every value times `factor`, as f32.
[[nodiscard]] model::Weight scaled(const model::Weight &weight, double factor);

} // namespace lamina::architectures
