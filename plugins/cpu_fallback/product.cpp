#include "product.hpp"

#include "threads.hpp"

#include <cblas.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t few_rows = 24;            // up to this many, weights are read as they are stored
constexpr int64_t few_rows_f32 = 1;         // which OpenBLAS reads as they are, too; it is slow for a single token
constexpr int64_t widened_values = 1 << 18; // of a weight, widened at a time for OpenBLAS

int64_t part_rows(const Tensor &weight) { return std::max<int64_t>(part_values / weight.cols(), 1); }

WeightRows stored(const Tensor &weight, int64_t first, int64_t end) {
    return {weight.dtype(), weight.stored_row(first), end - first, weight.cols(), weight.row_bytes()};
}

// Columns [first, end) of what the product is added to: bias + residual (rows, cols).
void start(int64_t rows, int64_t cols, const Tensor &bias, const float *residual, float *y, int64_t first,
           int64_t end) {
    const int64_t n = end - first;
    const Matrix added(1, bias ? n : 0);
    if (bias)
        widen({bias.dtype(), bias.stored_row(0) + storage_type(bias.dtype()).row_bytes(first), 1, n, 0}, added.data());
    for (int64_t at = first; at < rows * cols; at += cols) {
        if (bias && residual != nullptr)
            std::transform(added.data(), added.data() + n, residual + at, y + at, std::plus<>());
        else if (bias || residual != nullptr)
            std::copy_n(bias ? added.data() : residual + at, n, y + at);
        else
            std::fill_n(y + at, n, 0.0F);
    }
}

// y += the product by OpenBLAS. The weight is widened a part at a time.
void add_widened(int64_t rows, const float *x, const Tensor &weight, float *y) {
    const int64_t cols = weight.rows(), inner = weight.cols(), part = 4 * part_rows(weight); // widening is fast
    const int64_t tile = std::min(std::max<int64_t>(widened_values / inner, 1), cols);
    const Matrix widened(tile, inner);
    for (int64_t begin = 0; begin < cols; begin += tile) {
        const int64_t count = std::min(tile, cols - begin);
        in_parallel(ceil_div(count, part), [&](int64_t p) {
            const int64_t first = p * part, end = std::min(first + part, count);
            widen(stored(weight, begin + first, begin + end), widened.data() + first * inner);
        });
        let_helpers_sleep();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blas_int(rows), blas_int(count), blas_int(inner), 1.0f, x,
                    blas_int(inner), widened.data(), blas_int(inner), 1.0f, y + begin, blas_int(cols));
    }
}

} // namespace

int blas_int(int64_t n) {
    if (n > std::numeric_limits<int>::max()) throw Unsupported(std::to_string(n) + " does not fit OpenBLAS's integers");
    return static_cast<int>(n);
}

void for_parts(const Tensor &weight, const std::function<void(int64_t, int64_t)> &f) {
    const int64_t rows = weight.rows(), part = part_rows(weight);
    in_parallel(ceil_div(rows, part), [&](int64_t p) { f(p * part, std::min((p + 1) * part, rows)); });
}

FewRows::FewRows(const float *x, int64_t rows, int64_t values)
    : rows_{x, nullptr, rows, ceil_div(values, group) * group} {
    if (rows_.step != values) {
        padded_.resize(static_cast<size_t>(rows * rows_.step));
        for (int64_t r = 0; r < rows; ++r) std::copy_n(x + r * values, values, padded_.data() + r * rows_.step);
        rows_.values = padded_.data();
    }
    sums_.resize(static_cast<size_t>(rows * rows_.step / group));
    for (int64_t i = 0; float &sum : sums_) {
        sum = std::reduce(rows_.values + i, rows_.values + i + group);
        i += group;
    }
    rows_.sums = sums_.data();
}

bool FewRows::suits(int64_t rows, const Tensor &weight) {
    return rows <= (weight.dtype() == LAMINA_F32 ? few_rows_f32 : few_rows);
}

void FewRows::product(const Tensor &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                      int64_t end) const {
    start(rows_.rows, weight.rows(), bias, residual, y, first, end);
    add_products(stored(weight, first, end), rows_, y + first, weight.rows());
}

void product(int64_t rows, const float *x, const Tensor &weight, const Tensor &bias, float *y, const float *residual) {
    const int m = blas_int(rows), n = blas_int(weight.rows()), k = blas_int(weight.cols());
    if (m == 0 || n == 0) return;
    if (FewRows::suits(rows, weight)) {
        const FewRows few(x, rows, k);
        return for_parts(weight,
                         [&](int64_t first, int64_t end) { few.product(weight, bias, y, residual, first, end); });
    }
    const bool words = weight.dtype() == LAMINA_F32, added = bias || residual != nullptr;
    if (added || !words) start(rows, n, bias, residual, y, 0, n);
    if (!words) return add_widened(rows, x, weight, y);
    let_helpers_sleep();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, x, k, weight.f32().data(), k,
                added ? 1.0f : 0.0f, y, n);
}

} // namespace lamina::plugin::cpu_fallback
