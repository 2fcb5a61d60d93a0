// The matrix product of the layers, Y = X Wᵀ + b + residual, by OpenBLAS.
#pragma once

#include <lamina/plugin/executor.hpp>

#include <memory>

namespace lamina::plugin::cpu_fallback {

// Uninitialized memory for intermediate results.
struct Matrix {
    Matrix(int64_t rows, int64_t cols)
        : values(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * cols))) {}
    [[nodiscard]] float *data() const { return values.get(); }
    std::unique_ptr<float[]> values;
};

// y (rows, N) = x (rows, K) * transpose(weight (N, K)) + bias (N) + residual (rows, N); both may be left out. Neither x
// nor the residual may overlap y. A weight in blocks is read as it is stored. Throws Unsupported if a size exceeds
// OpenBLAS's integers.
void product(int64_t rows, const float *x, const Tensor &weight, const Tensor &bias, float *y,
             const float *residual = nullptr);

// Converts a size to OpenBLAS's integer type. Throws Unsupported.
int blas_int(int64_t n);

} // namespace lamina::plugin::cpu_fallback
