#include "product.hpp"

#include "blocks.hpp"
#include "threads.hpp"

#include <cblas.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace lamina::plugin::cpu_fallback {

namespace {

constexpr int64_t few_rows = 24;            // up to this many, weights in blocks are read directly
constexpr int64_t part_values = 1 << 15;    // of a weight, per task of a thread
constexpr int64_t widened_values = 1 << 18; // of a weight, widened at a time for OpenBLAS

// Calls f(first, end) for parts of the rows [0, rows) of a weight, on all threads.
template <class F> void for_parts(int64_t rows, int64_t inner, F &&f) {
    const int64_t part = std::max<int64_t>(part_values / inner, 1);
    in_parallel(ceil_div(rows, part), [&](int64_t p) { f(p * part, std::min((p + 1) * part, rows)); });
}

std::vector<float> sums_of_groups(std::span<const float> x) {
    std::vector<float> out(x.size() / 32);
    for (size_t i = 0; i < out.size(); ++i) out[i] = std::reduce(&x[i * 32], &x[i * 32] + 32);
    return out;
}

// y (rows, N) += x (rows, K) * transpose(weight (N, K)), the weight in blocks.
void add_block_product(int64_t rows, const float *x, const Tensor &weight, float *y) {
    const int64_t cols = weight.rows(), inner = weight.cols();
    const auto stored = [&](int64_t first, int64_t end) {
        return BlockRows{weight.dtype(), weight.stored_row(first), end - first, inner};
    };
    if (rows <= few_rows) {
        const std::vector<float> sums = sums_of_groups({x, static_cast<size_t>(rows * inner)});
        const SummedRows summed{x, sums.data(), rows};
        return for_parts(cols, inner, [&](int64_t first, int64_t end) {
            add_products(stored(first, end), summed, y + first, cols);
        });
    }
    const int64_t tile = std::min(std::max<int64_t>(widened_values / inner, 1), cols);
    const Matrix widened(tile, inner);
    for (int64_t begin = 0; begin < cols; begin += tile) {
        const int64_t count = std::min(tile, cols - begin);
        for_parts(count, inner, [&](int64_t first, int64_t end) {
            widen(stored(begin + first, begin + end), widened.data() + first * inner);
        });
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blas_int(rows), blas_int(count), blas_int(inner), 1.0f, x,
                    blas_int(inner), widened.data(), blas_int(inner), 1.0f, y + begin, blas_int(cols));
    }
}

} // namespace

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
        else if (weight.in_blocks())
            std::fill_n(row, n, 0.0f);
    }
    if (m == 0 || n == 0) return;
    if (weight.in_blocks()) return add_block_product(rows, x, weight, y);
    const float beta = residual != nullptr || bias ? 1.0f : 0.0f;
    const float *w = weight.f32().data();
    if (m == 1) // one token, for which OpenBLAS's matrix product is slow
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, w, k, x, 1, beta, y, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, x, k, w, k, beta, y, n);
}

} // namespace lamina::plugin::cpu_fallback
