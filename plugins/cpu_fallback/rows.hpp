// Rows of weights or of cached keys and values as they are stored, with SIMD: f32, f16, bf16 and q8_0; strips.hpp has
// the other dtypes. Highway selects the processor's instructions at run time.
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
    bool strips = false;    // each sixteen rows are a strip (strips.hpp)
    int x_digits = 3;       // of what strips are multiplied with
};

// Few rows of x. Behind each there are zeros up to a whole group.
struct FewRows {
    const float *values;
    int64_t rows, step; // from one to the next
};

// y[r * step + n] += row n of the weight times row r of x.
void add_products(const WeightRows &weight, const FewRows &x, float *y, int64_t step);

// y[r * step + c] += the sum over n of x[r * x_step + n] * value c of row n, for r from 0 to count - 1. For f32,
// f16 and q8_0.
void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y, int64_t step);

// Widens rows that follow each other, exactly.
void widen(const WeightRows &weight, float *out);

} // namespace lamina::plugin::cpu_fallback
