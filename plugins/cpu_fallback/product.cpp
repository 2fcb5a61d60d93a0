#include "product.hpp"

#include "panels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <functional>
#include <memory>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t few_rows = 8;     // up to this many rows of x, packing them would take longer than it saves
constexpr int64_t block_rows = 512; // of x, packed at a time
// Rows of a weight that are multiplied together, and their values up to here: they stay in the second cache.
constexpr int64_t tile_rows = 64, tile_values = 512;
constexpr int64_t line_floats = 16; // of a cache line

int64_t padded(int64_t values) { return ceil_div(values, group) * group; } // to whole groups

WeightRows part_of(const WeightRows &weight, int64_t first, int64_t end) {
    return {weight.dtype, weight.first + first * weight.step, end - first, weight.values, weight.step};
}

// Values [first, first + n) of a bias that may be left out.
class BiasPart {
  public:
    BiasPart(const Tensor &bias, int64_t first, int64_t n) : values_(1, bias ? n : 0), there_(static_cast<bool>(bias)) {
        if (there_)
            widen({bias.dtype(), bias.stored_row(0) + storage_type(bias.dtype()).row_bytes(first), 1, n, 0},
                  values_.data());
    }
    [[nodiscard]] const float *values() const { return there_ ? values_.data() : nullptr; }

  private:
    Matrix values_;
    bool there_;
};

// Columns [first, end) of what the product is added to: bias + residual (rows, cols).
void start(int64_t rows, int64_t cols, const Tensor &bias, const float *residual, float *y, int64_t first,
           int64_t end) {
    const int64_t n = end - first;
    const BiasPart part(bias, first, n);
    const float *const added = part.values();
    for (int64_t at = first; at < rows * cols; at += cols) {
        if (added != nullptr && residual != nullptr)
            std::transform(added, added + n, residual + at, y + at, std::plus<>());
        else if (added != nullptr || residual != nullptr)
            std::copy_n(added != nullptr ? added : residual + at, n, y + at);
        else
            std::fill_n(y + at, n, 0.0F);
    }
}

// Some rows of x as panels, on all threads.
class PackedRows {
  public:
    PackedRows(const float *x, int64_t rows, int64_t inner)
        : rows_(rows), inner_(inner), columns_(panel_columns(rows)), panels_(ceil_div(rows, columns_)),
          values_(panels_ * columns_, inner) {
        in_ranges(panels_, std::max<int64_t>(part_values / (columns_ * inner), 1), [&](int64_t first, int64_t end) {
            for (int64_t p = first; p < end; ++p)
                pack_panel({x + p * columns_ * inner, count(p), inner}, inner, panel(p), columns_);
        });
    }

    // y (rows, cols) = the product with a tile of rows of a weight, from column `first` on, + bias + residual.
    // `sums`: memory for tile_rows values of each row.
    void multiply(const float *weight, int64_t count, const float *bias, const float *residual, float *y, int64_t cols,
                  int64_t first, float *sums) const {
        const int64_t step = tile_rows * columns_;
        for (int64_t i = 0; i < inner_; i += tile_values)
            for (int64_t p = 0; p < panels_; ++p) {
                multiply_panel({weight + i, inner_, 1}, count, std::min(tile_values, inner_ - i),
                               panel(p) + i * columns_, sums + p * step, columns_, i != 0);
                if (i + tile_values < inner_) continue;
                const int64_t at = p * columns_ * cols + first;
                unpack_panel(sums + p * step, count, columns_, bias, residual == nullptr ? nullptr : residual + at,
                             y + at, this->count(p), cols);
            }
    }

    [[nodiscard]] int64_t padded_rows() const { return panels_ * columns_; }

  private:
    int64_t rows_, inner_, columns_, panels_;
    Matrix values_;

    [[nodiscard]] float *panel(int64_t p) const { return values_.data() + p * columns_ * inner_; }
    [[nodiscard]] int64_t count(int64_t p) const { return std::min(columns_, rows_ - p * columns_); }
};

// The product for many rows: a few rows of the weight at a time, which are widened first if they are not f32.
void product_by_panels(int64_t rows, const float *x, const WeightRows &weight, const Tensor &bias, float *y,
                       const float *residual) {
    const int64_t cols = weight.rows, inner = weight.values;
    const bool words = weight.dtype == LAMINA_F32;
    const PackedRows packed(x, rows, inner);
    // Tiles of about the same size, and as many for each thread. No two write to the same cache line.
    const int64_t threads = thread_count(), tiles = ceil_div(ceil_div(cols, tile_rows), threads) * threads;
    const auto first_of = [&](int64_t tile) {
        return std::min(ceil_div(cols, line_floats) * tile / tiles * line_floats, cols);
    };
    in_ranges(tiles, 1, [&](int64_t begin, int64_t end) {
        const Matrix sums(packed.padded_rows(), tile_rows), widened(words ? 0 : tile_rows, inner);
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t first = first_of(tile), count = first_of(tile + 1) - first;
            const WeightRows part = part_of(weight, first, first + count);
            if (!words) widen(part, widened.data());
            packed.multiply(words ? reinterpret_cast<const float *>(part.first) : widened.data(), count,
                            BiasPart(bias, first, count).values(), residual, y, cols, first, sums.data());
        }
    });
}

} // namespace

WeightRows stored_rows(const Tensor &weight) {
    return {weight.dtype(), weight.stored_row(0), weight.rows(), weight.cols(), weight.row_bytes()};
}

void for_parts(const WeightRows &weight, const std::function<void(int64_t, int64_t)> &f) {
    // Parts of the same size, and as many for each thread.
    const int64_t threads = thread_count(), work = std::max<int64_t>(weight.rows * weight.values, 1);
    const int64_t parts = ceil_div(work, part_values * threads) * threads;
    const int64_t part = std::max<int64_t>(ceil_div(weight.rows, parts), 1);
    in_parallel(ceil_div(weight.rows, part), [&](int64_t p) { f(p * part, std::min((p + 1) * part, weight.rows)); });
}

FewRowsFor::FewRowsFor(uint32_t dtype, const float *x, int64_t rows, int64_t values)
    : copy_(rows, std::max(integers_step(dtype, values), padded(values))), rows_{x, rows, values} {
    if (const int64_t step = integers_step(dtype, values);
        step != 0 && to_integers(dtype, x, rows, values, copy_.data())) {
        rows_ = {copy_.data(), rows, step, true};
    } else if (padded(values) != values) {
        rows_ = {copy_.data(), rows, padded(values)};
        for (int64_t r = 0; r < rows; ++r) {
            float *const end = std::copy_n(x + r * values, values, copy_.data() + r * rows_.step);
            std::fill_n(end, rows_.step - values, 0.0F);
        }
    }
}

bool FewRowsFor::suits(int64_t rows) { return rows <= few_rows; }

void FewRowsFor::product(const WeightRows &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                         int64_t end) const {
    start(rows_.rows, weight.rows, bias, residual, y, first, end);
    add_products(part_of(weight, first, end), rows_, y + first, weight.rows);
}

void product(int64_t rows, const float *x, const WeightRows &weight, const Tensor &bias, float *y,
             const float *residual) {
    if (rows == 0) return;
    if (FewRowsFor::suits(rows)) {
        const FewRowsFor few(weight.dtype, x, rows, weight.values);
        return for_parts(weight,
                         [&](int64_t first, int64_t end) { few.product(weight, bias, y, residual, first, end); });
    }
    for (int64_t first = 0; first < rows; first += block_rows)
        product_by_panels(std::min(block_rows, rows - first), x + first * weight.values, weight, bias,
                          y + first * weight.rows, residual == nullptr ? nullptr : residual + first * weight.rows);
}

void product(int64_t rows, const float *x, const Tensor &weight, const Tensor &bias, float *y, const float *residual) {
    product(rows, x, stored_rows(weight), bias, y, residual);
}

} // namespace lamina::plugin::cpu_fallback
