#include "product.hpp"

#include <cblas.h>

#include <algorithm>
#include <functional>

namespace lamina::plugin::cpu_fallback {

int blas_int(int64_t n) {
    if (n > std::numeric_limits<int>::max()) throw Unsupported(std::to_string(n) + " does not fit OpenBLAS's integers");
    return static_cast<int>(n);
}

void product(int64_t rows, const float *x, const Tensor &weight, const Tensor &bias, float *y, const float *residual) {
    const int m = blas_int(rows), n = blas_int(weight.rows()), k = blas_int(weight.cols());
    const std::span<const float> b = bias.f32();
    for (int64_t r = 0; r < rows; ++r) {
        float *row = y + r * n;
        if (residual != nullptr && bias)
            std::transform(b.begin(), b.end(), residual + r * n, row, std::plus<>());
        else if (residual != nullptr)
            std::copy_n(residual + r * n, n, row);
        else if (bias)
            std::copy(b.begin(), b.end(), row);
    }
    if (m == 0 || n == 0) return;
    const float beta = residual != nullptr || bias ? 1.0f : 0.0f;
    const float *w = weight.f32().data();
    if (m == 1) // one token; OpenBLAS's matrix product is slow for it
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, w, k, x, 1, beta, y, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, x, k, w, k, beta, y, n);
}

} // namespace lamina::plugin::cpu_fallback
