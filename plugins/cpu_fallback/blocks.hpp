// Weights in blocks on the CPU, by SIMD: the instructions of the processor at hand are chosen at run time (Highway).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Rows of a matrix that is stored in blocks.
struct BlockRows {
    uint32_t dtype;
    const std::byte *blocks; // of the first row, at any address
    int64_t rows, values;    // values: of a row
};

// Rows of floats, with the sums of each 32 values: a block's minimum is multiplied by these once, not by every value.
struct SummedRows {
    const float *values, *sums;
    int64_t rows;
};

// y[r * step + n] += row n of the weight times row r of x.
void add_products(const BlockRows &weight, const SummedRows &x, float *y, int64_t step);

// The values of all rows, exactly.
void widen(const BlockRows &weight, float *out);

} // namespace lamina::plugin::cpu_fallback
