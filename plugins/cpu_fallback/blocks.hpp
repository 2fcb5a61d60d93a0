// Weights in blocks on the CPU, with SIMD. Highway selects the processor's instructions at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Rows of a matrix that is stored in blocks.
struct BlockRows {
    uint32_t dtype;
    const std::byte *blocks; // of the first row; needs no alignment
    int64_t rows, values;    // values: per row
};

// Rows of floats, and the sums of every 32 values, so that a block's minimum is multiplied once and not per value.
struct SummedRows {
    const float *values, *sums;
    int64_t rows;
};

// y[r * step + n] += row n of the weight times row r of x.
void add_products(const BlockRows &weight, const SummedRows &x, float *y, int64_t step);

// Widens all rows exactly.
void widen(const BlockRows &weight, float *out);

} // namespace lamina::plugin::cpu_fallback
