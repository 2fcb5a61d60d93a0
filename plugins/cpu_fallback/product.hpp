// The matrix product of the layers, Y = X Wᵀ + b + residual: by SIMD for few rows of X, by OpenBLAS for many.
#pragma once

#include "rows.hpp"

#include <lamina/plugin/executor.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace lamina::plugin::cpu_fallback {

// Uninitialized memory for intermediate results.
struct Matrix {
    Matrix(int64_t rows, int64_t cols)
        : values(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * cols))) {}
    [[nodiscard]] float *data() const { return values.get(); }
    std::unique_ptr<float[]> values;
};

// y (rows, N) = x (rows, K) * transpose(weight (N, K)) + bias (N) + residual (rows, N); both may be left out. Neither x
// nor the residual may overlap y. Weights are read as they are stored. Throws Unsupported if a size exceeds OpenBLAS's
// integers.
void product(int64_t rows, const float *x, const Tensor &weight, const Tensor &bias, float *y,
             const float *residual = nullptr);

// Few rows of x, in the form that add_products() takes. They are copied only if zeros must follow them.
class FewRows {
  public:
    FewRows(const float *x, int64_t rows, int64_t values);
    FewRows(const FewRows &) = delete;
    FewRows &operator=(const FewRows &) = delete;
    // Whether there are so few that the product by OpenBLAS would be slower.
    static bool suits(int64_t rows, const Tensor &weight);

    // The columns [first, end) of y, as product() computes them.
    void product(const Tensor &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                 int64_t end) const;

    [[nodiscard]] const SummedRows &rows() const { return rows_; }

  private:
    std::vector<float> padded_, sums_;
    SummedRows rows_;
};

// Calls f(first, end) for parts of the rows of a weight, on all threads.
void for_parts(const Tensor &weight, const std::function<void(int64_t first, int64_t end)> &f);

// Converts a size to OpenBLAS's integer type. Throws Unsupported.
int blas_int(int64_t n);

} // namespace lamina::plugin::cpu_fallback
