// Rows of weights or of cached keys and values as they are stored, in any dtype, with SIMD. Highway selects the
// processor's instructions at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

inline constexpr int64_t group = 32; // values that are unpacked together

struct WeightRows {
    uint32_t dtype;
    const std::byte *first; // needs no alignment
    int64_t rows, values;   // values: per row
    int64_t step;           // bytes from one row to the next
};

// Rows of floats; `step` from one to the next. Behind a row there are zeros up to a whole group. The sums of the groups
// are there so that a block's minimum is multiplied once and not for each value.
struct SummedRows {
    const float *values, *sums; // no sums: for dtypes of single values
    int64_t rows, step;
};

// y[r * step + n] += row n of the weight times row r of x.
void add_products(const WeightRows &weight, const SummedRows &x, float *y, int64_t step);

// y[r * step + c] += the sum over n of x[r * x_step + n] * value c of row n, for r from 0 to count - 1. Only for f32
// and f16.
void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y, int64_t step);

// Widens rows that follow each other, exactly.
void widen(const WeightRows &weight, float *out);

} // namespace lamina::plugin::cpu_fallback
