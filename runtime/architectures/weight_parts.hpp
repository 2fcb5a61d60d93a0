// Converts weights from the layout of a file to the layout of a layer.
#pragma once

#include "model/weights.hpp"

#include <vector>

namespace lamina::architectures {

// Part `part` of `parts` of a matrix's columns, transposed (a copy, of the same dtype). Throws Error(input) if it is
// not a matrix of single values, or cannot be split into equal parts.
[[nodiscard]] model::Weight transposed_columns(const model::Weight &matrix, int64_t part, int64_t parts);

// The same part of the rows of a tensor, without a copy.
[[nodiscard]] model::Weight part_of(const model::Weight &weight, int64_t part, int64_t parts);

// Of a stack of matrices (E, K, N), columns `first`, first + step and so on as rows: (E, N / step, K), made when it is
// first read; of weights in blocks as f32. Throws Error(input) as above.
[[nodiscard]] model::Weight transposed_stack(const model::Weight &stack, int64_t first, int64_t step);

// The same for part `part` of the columns, which are split into `parts`: (E, N / parts, K).
[[nodiscard]] model::Weight transposed_part(const model::Weight &stack, int64_t part, int64_t parts);

// Values `first`, first + step and so on of each row, as f32.
[[nodiscard]] model::Weight every(const model::Weight &rows, int64_t first, int64_t step);

// A table with another row, of zeros, as f32.
[[nodiscard]] model::Weight with_another_row(const model::Weight &table);

// Every row of a table plus the first row of another, as f32. Throws Error(input) if these are not as long.
[[nodiscard]] model::Weight row_added(const model::Weight &table, const model::Weight &rows);

// Of a stack of matrices (E, K, N), the sums of the rows of each, (E, N), as f32.
[[nodiscard]] model::Weight matrices_summed(const model::Weight &stack);

// A matrix of one row as a vector. Throws Error(input) for any other shape.
[[nodiscard]] model::Weight as_vector(model::Weight row);

// All of its values.
[[nodiscard]] std::vector<float> numbers_of(const model::Weight &weight);

// Every value times `factor`, as f32.
[[nodiscard]] model::Weight scaled(const model::Weight &weight, double factor);

// Every value plus `summand`, as f32.
[[nodiscard]] model::Weight shifted(const model::Weight &weight, double summand);

// log(-value) of every value, as f32.
[[nodiscard]] model::Weight logarithms(const model::Weight &weight);

// Row i (of a vector: value i) times factor i, as f32. Throws Error(input) if there are not as many factors as rows.
[[nodiscard]] model::Weight rows_scaled(const model::Weight &weight, const model::Weight &factors);

// For each k, the entries [..., k] of `directions`, as one vector, with the length of value k of `lengths`, as f32:
// what PyTorch makes of a weight with weight_norm (Salimans and Kingma, arXiv:1602.07868) over the last axis. Throws
// Error(input) if there are not as many lengths.
[[nodiscard]] model::Weight weight_norm(const model::Weight &directions, const model::Weight &lengths);

} // namespace lamina::architectures
