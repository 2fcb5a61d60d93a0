// Weights in blocks on the CPU, by SIMD: the instructions of the processor at hand are chosen at run time (Highway).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// One row of a matrix that is stored in blocks.
struct BlockRow {
    uint32_t dtype;
    const std::byte *blocks; // at any address
    int64_t values;
};

// sums[r * step] += the row times row r of x (rows, values).
void add_dots(const BlockRow &row, const float *x, int64_t rows, float *sums, int64_t step);

// The row's values, exactly.
void widen(const BlockRow &row, float *out);

} // namespace lamina::plugin::cpu_fallback
