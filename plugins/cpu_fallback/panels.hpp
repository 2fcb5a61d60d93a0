// Products and softmax with SIMD. A panel is a matrix with a column for each of a few rows of a tensor, all of which
// fit into a few vectors: a step that is computed for one of these rows is computed for all of them.
#pragma once

#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// How many columns a panel has for so many rows, or for some of them if there are more. Those without a row hold zeros.
int64_t panel_columns(int64_t rows);

// Rows of floats; `step` from one to the next.
struct FloatRows {
    const float *values;
    int64_t rows, step;
};

// panel (inner, columns) = the rows, transposed.
void pack_panel(const FloatRows &rows, int64_t inner, float *panel, int64_t columns);

// Of rows that are `step` apart in y: the panel (inner, columns), transposed, + bias (inner) + added, which has the
// step of y; nullptr for what is left out.
void unpack_panel(const float *panel, int64_t inner, int64_t columns, const float *bias, const float *added, float *y,
                  int64_t rows, int64_t step);

// A matrix whose element (r, i) is values[r * row_step + i * inner_step].
struct Strided {
    const float *values;
    int64_t row_step, inner_step;
};

// y (rows, columns) = a (rows, inner) * x (inner, columns), or y += that.
void multiply_panel(const Strided &a, int64_t rows, int64_t inner, const float *x, float *y, int64_t columns,
                    bool add = false);

// Where the search for a greatest score begins: finite, so that a score of -infinity counts as masked.
inline constexpr float least_score = -1.7e38F;

// What the columns of a matrix, which comes in blocks of rows, have so far: the greatest value, which begins as
// least_score, and the sum of the exponentials relative to it, which begins as 0.
struct Softmax {
    float *greatest, *total;
};

// Replaces a block of values (rows, columns) by its exponentials, and scales `sums` (inner, columns), to which the
// exponentials of earlier blocks have been added, to the same greatest value (online softmax: Milakov and Gimelshein,
// arXiv:1805.02867). A value of -infinity is masked: its exponential is 0.
void softmax_block(float *values, int64_t rows, int64_t columns, const Softmax &softmax, float *sums, int64_t inner);
// After all blocks: the sums, divided by the totals; zeros in columns that are masked throughout.
void divide_by_totals(float *sums, int64_t inner, int64_t columns, const float *total);

} // namespace lamina::plugin::cpu_fallback
