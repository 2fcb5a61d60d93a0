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

// Few rows of x as add_products() reads them: as floats, behind which there are zeros up to a whole group, or as
// integers, for weights that are multiplied as such.
struct FewRows {
    const float *values;
    int64_t rows, step; // from one to the next
    bool integers = false;
};

// How many floats a row of x takes as integers; 0 for a dtype whose weights are multiplied as floats.
int64_t integers_step(uint32_t dtype, int64_t values);
// Rows of x, which follow each other, as integers for a dtype. `out` begins at a cache line. False if a value is not
// finite: then there are no such integers.
bool to_integers(uint32_t dtype, const float *x, int64_t rows, int64_t values, float *out);

// y[r * step + n] += row n of the weight times row r of x.
void add_products(const WeightRows &weight, const FewRows &x, float *y, int64_t step);

// y[r * step + c] += the sum over n of x[r * x_step + n] * value c of row n, for r from 0 to count - 1. Only for f32
// and f16.
void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y, int64_t step);

// Widens rows that follow each other, exactly.
void widen(const WeightRows &weight, float *out);

} // namespace lamina::plugin::cpu_fallback
