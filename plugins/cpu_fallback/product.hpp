// The matrix product of the layers, Y = X Wᵀ + b + residual.
#pragma once

#include "matrix.hpp"
#include "rows.hpp"
#include "strips.hpp"
#include "threads.hpp"

#include <lamina/plugin/executor.hpp>

#include <algorithm>
#include <string_view>

namespace lamina::plugin::cpu_fallback {

// A weight of a call, as products read it: in strips if its dtype has them and the host has memory for that, else as it
// is stored. x_digits: how exactly strips are multiplied (strips.hpp). A stack of matrices (E, N, K) is E * N rows, and
// no strip has rows of two matrices.
WeightRows weight_rows(const Call &call, std::string_view name, int x_digits);
// Rows [first, end), where a strip begins.
WeightRows part_of(const WeightRows &weight, int64_t first, int64_t end);

// y (rows, N) = x (rows, K) * transpose(weight (N, K)) + bias (N) + residual (rows, N); both may be left out. Neither x
// nor the residual may overlap y. f32 must be aligned.
void product(int64_t rows, const float *x, const WeightRows &weight, const Tensor &bias, float *y,
             const float *residual = nullptr);

// Rows of x that stay rows, in the form in which weights like this one are multiplied with them: few, in most cases.
class FewRowsFor {
  public:
    FewRowsFor(const WeightRows &weight, const float *x, int64_t rows);
    // Whether panels would be slower: if there are at most eight rows, or if digits are multiplied fast.
    static bool suits(const WeightRows &weight, int64_t rows);
    // Whether they have this form: not if a value that would have to be an integer is infinite or NaN.
    [[nodiscard]] bool there() const { return there_; }

    // The columns [first, end) of y, as product() computes them.
    void product(const WeightRows &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                 int64_t end) const;

    [[nodiscard]] const FewRows &rows() const { return rows_; }

  private:
    Matrix copy_;
    FewRows rows_;
    RowsForm form_;
    Array<std::byte> formed_;
    bool there_ = true;
};

// Many rows of x as panels.
class PackedRows {
  public:
    static constexpr int64_t most = 512; // rows that are packed at a time, so that they stay in a cache

    PackedRows(int64_t rows, int64_t values);                 // uninitialized
    PackedRows(const float *x, int64_t rows, int64_t values); // on all threads

    // The columns [first, end) of y, as product() computes them.
    void product(const WeightRows &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                 int64_t end) const;
    // The same, but y is packed.
    void product(const WeightRows &weight, const Tensor &bias, const PackedRows &y, int64_t first, int64_t end) const;

    [[nodiscard]] int64_t panels() const { return panels_; }
    [[nodiscard]] int64_t columns() const { return columns_; }
    // Value `i` of all rows in a panel; the next values follow.
    [[nodiscard]] float *at(int64_t panel, int64_t i) const { return values_.data() + (panel * inner_ + i) * columns_; }

  private:
    int64_t rows_, inner_, columns_, panels_;
    Matrix values_;

    [[nodiscard]] int64_t rows_of(int64_t panel) const { return std::min(columns_, rows_ - panel * columns_); }
};

// Calls f(first, end) for parts of the rows of a weight, on all threads: for a product with few rows.
void for_parts(const WeightRows &weight, int64_t x_rows, Callback<int64_t, int64_t> f);
// The same for a product with many rows.
void for_tiles(const WeightRows &weight, Callback<int64_t, int64_t> f);

} // namespace lamina::plugin::cpu_fallback
