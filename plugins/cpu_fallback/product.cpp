#include "product.hpp"

#include "panels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t few_rows = 8; // up to this many rows of x, packing them would take longer than it saves
// Rows of a weight that are multiplied together, and their values up to here: they stay in the second cache.
constexpr int64_t tile_rows = 64, tile_values = 512;
constexpr int64_t line_floats = 16; // of a cache line
// Values of a weight that a thread reads before it asks for more: for that it waits until all that it has asked memory
// for is there. With parts of an eighth, answers took a sixth longer.
constexpr int64_t streamed_values = 1 << 18;

int64_t padded(int64_t values) { return ceil_div(values, group) * group; } // to whole groups

// The strips of some rows: those that there are, and others that are made of rows as they are stored.
class Strips {
  public:
    explicit Strips(const WeightRows &rows)
        : rows_(rows), whole_(rows.strips ? rows.rows / strip_rows : 0), made_((count() - whole_) * bytes()) {
        for (int64_t i = whole_; i < count(); ++i)
            put_strip(rows.dtype, rows.first + i * bytes(), rows_of(i), rows.values,
                      made_.data() + (i - whole_) * bytes());
    }
    [[nodiscard]] int64_t count() const { return ceil_div(rows_.rows, strip_rows); }
    [[nodiscard]] int64_t rows_of(int64_t i) const { return std::min(strip_rows, rows_.rows - i * strip_rows); }
    [[nodiscard]] const std::byte *at(int64_t i) const {
        return i < whole_ ? rows_.first + i * bytes() : made_.data() + (i - whole_) * bytes();
    }

  private:
    [[nodiscard]] int64_t bytes() const { return strip_rows * rows_.step; }
    const WeightRows rows_;
    const int64_t whole_;
    Array<std::byte> made_;
};

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

// Some rows of a weight as floats, for a few of their values at a time.
class WidenedRows {
  public:
    explicit WidenedRows(const WeightRows &rows) : rows_(rows) {
        if (rows.dtype == LAMINA_F32) return;
        if (in_strips(rows.dtype))
            strips_.emplace(rows);
        else
            widened_.emplace(rows.rows, rows.values), widen(rows, widened_->data());
    }
    // Those from the i-th value on, until the next call.
    Strided from(int64_t i, int64_t count) {
        if (!strips_)
            return {(widened_ ? widened_->data() : reinterpret_cast<const float *>(rows_.first)) + i, rows_.values, 1};
        const int64_t step = strips_->count() * strip_rows;
        if (!widened_) widened_.emplace(std::min(tile_values, rows_.values), step);
        for (int64_t s = 0; s < strips_->count(); ++s)
            widen_strip(rows_.dtype, strips_->at(s), i, count, widened_->data() + s * strip_rows, step);
        return {widened_->data(), 1, step};
    }

  private:
    const WeightRows rows_;
    std::optional<Strips> strips_;
    std::optional<Matrix> widened_;
};

// sums(panel) = the product of each panel of x with a tile of rows of a weight; added to what is there if `add`. Then
// calls done(panel).
template <class Sums, class Done>
void multiply_panels(const PackedRows &x, const WeightRows &tile, bool add, Sums &&sums, Done &&done) {
    WidenedRows rows(tile);
    for (int64_t i = 0; i < tile.values; i += tile_values) {
        const int64_t count = std::min(tile_values, tile.values - i);
        const Strided values = rows.from(i, count);
        for (int64_t p = 0; p < x.panels(); ++p) {
            multiply_panel(values, tile.rows, count, x.at(p, i), sums(p), x.columns(), add || i != 0);
            if (i + count == tile.values) done(p);
        }
    }
}

} // namespace

WeightRows part_of(const WeightRows &weight, int64_t first, int64_t end) {
    return {weight.dtype,   weight.first + first * weight.step, end - first, weight.values, weight.step, weight.strips,
            weight.x_digits};
}

WeightRows weight_rows(const Call &call, std::string_view name, int x_digits) {
    const Tensor weight = call.weight(name);
    WeightRows rows{weight.dtype(), weight.stored_row(0), weight.rows(), weight.cols(), weight.row_bytes(), false,
                    x_digits};
    if (!in_strips(rows.dtype) || (weight.rank() > 2 && weight.dim(1) % strip_rows != 0)) return rows;
    const auto fill = [&](std::byte *out) {
        in_ranges(ceil_div(rows.rows, strip_rows), part_values / (strip_rows * rows.values) + 1,
                  [&](int64_t first, int64_t end) {
                      const int64_t at = first * strip_rows, count = std::min(end * strip_rows, rows.rows) - at;
                      put_strips(rows.dtype, rows.first + at * rows.step, count, rows.values, out + at * rows.step);
                  });
    };
    if (const std::byte *arranged = call.arranged(name, rows.rows * rows.step, fill))
        rows.first = arranged, rows.strips = true;
    return rows;
}

void for_parts(const WeightRows &weight, int64_t x_rows, Callback<int64_t, int64_t> f) {
    // Parts of the same size, and as many for each thread.
    const int64_t threads = thread_count(), work = std::max<int64_t>(weight.rows * weight.values, 1);
    const int64_t parts = ceil_div(work, std::max(streamed_values / x_rows, part_values) * threads) * threads;
    int64_t part = std::max<int64_t>(ceil_div(weight.rows, parts), 1);
    if (in_strips(weight.dtype)) part = ceil_div(part, strip_rows) * strip_rows;
    const auto of_part = [&](int64_t p) { f(p * part, std::min((p + 1) * part, weight.rows)); };
    in_parallel(ceil_div(weight.rows, part), of_part, part * weight.values * x_rows);
}

void for_tiles(const WeightRows &weight, Callback<int64_t, int64_t> f) {
    // Tiles of about the same size, and as many for each thread. No two write to the same cache line.
    const int64_t threads = thread_count(), lines = ceil_div(weight.rows, line_floats);
    const int64_t tiles = std::min(ceil_div(ceil_div(weight.rows, tile_rows), threads) * threads, lines);
    const auto first_of = [&](int64_t tile) { return std::min(lines * tile / tiles * line_floats, weight.rows); };
    in_ranges(tiles, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) f(first_of(tile), first_of(tile + 1));
    });
}

FewRowsFor::FewRowsFor(const WeightRows &weight, const float *x, int64_t rows)
    : copy_(padded(weight.values) != weight.values ? rows : 0, padded(weight.values)), rows_{x, rows, weight.values},
      form_(in_strips(weight.dtype) ? rows_form(weight.dtype, fastest_digits(weight.x_digits, rows)) : RowsForm{0}),
      formed_(in_strips(weight.dtype) ? rows * (weight.values / 32) * form_.bytes() : 0) {
    const int64_t values = weight.values;
    if (in_strips(weight.dtype)) {
        std::atomic<bool> finite = true;
        constexpr int64_t work = 8; // of a value, in multiplications
        in_ranges(ceil_div(rows, apart_from_others), part_values / (work * apart_from_others * values) + 1,
                  [&](int64_t begin, int64_t end) {
                      const int64_t at = begin * apart_from_others,
                                    count = std::min(end * apart_from_others, rows) - at;
                      std::byte *const to = formed_.data() + at * (values / 32) * form_.bytes();
                      if (!to_form(form_, x + at * values, count, values, to)) finite = false;
                  });
        there_ = finite;
    } else if (padded(values) != values) {
        rows_ = {copy_.data(), rows, padded(values)};
        for (int64_t r = 0; r < rows; ++r) {
            float *const end = std::copy_n(x + r * values, values, copy_.data() + r * rows_.step);
            std::fill_n(end, rows_.step - values, 0.0F);
        }
    }
}

bool FewRowsFor::suits(const WeightRows &weight, int64_t rows) {
    return rows <= few_rows || (in_strips(weight.dtype) && digits_suit_many(weight.dtype, weight.x_digits));
}

void FewRowsFor::product(const WeightRows &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                         int64_t end) const {
    start(rows_.rows, weight.rows, bias, residual, y, first, end);
    const WeightRows part = part_of(weight, first, end);
    if (!in_strips(weight.dtype)) return add_products(part, rows_, y + first, weight.rows);
    const Strips strips(part);
    for (int64_t i = 0; i < strips.count(); ++i)
        add_strip_products({weight.dtype, strips.at(i), weight.values, strips.rows_of(i), form_, formed_.data(),
                            rows_.rows, has_dot_products()},
                           y + first + i * strip_rows, weight.rows);
}

PackedRows::PackedRows(int64_t rows, int64_t values)
    : rows_(rows), inner_(values), columns_(panel_columns(rows)), panels_(ceil_div(rows, columns_)),
      values_(panels_ * columns_, inner_) {}

PackedRows::PackedRows(const float *x, int64_t rows, int64_t values) : PackedRows(rows, values) {
    in_ranges(panels_, std::max<int64_t>(part_values / (columns_ * inner_), 1), [&](int64_t first, int64_t end) {
        for (int64_t p = first; p < end; ++p)
            pack_panel({x + p * columns_ * inner_, rows_of(p), inner_}, inner_, at(p, 0), columns_);
    });
}

void PackedRows::product(const WeightRows &weight, const Tensor &bias, float *y, const float *residual, int64_t first,
                         int64_t end) const {
    const int64_t count = end - first;
    const BiasPart part(bias, first, count);
    const Matrix sums(panels_, count * columns_);
    const auto sums_of = [&](int64_t p) { return sums.data() + p * count * columns_; };
    multiply_panels(*this, part_of(weight, first, end), false, sums_of, [&](int64_t p) {
        const int64_t to = p * columns_ * weight.rows + first;
        unpack_panel(sums_of(p), count, columns_, part.values(), residual == nullptr ? nullptr : residual + to, y + to,
                     rows_of(p), weight.rows);
    });
}

void PackedRows::product(const WeightRows &weight, const Tensor &bias, const PackedRows &y, int64_t first,
                         int64_t end) const {
    const BiasPart part(bias, first, end - first);
    if (bias)
        for (int64_t p = 0; p < panels_; ++p)
            for (int64_t n = first; n < end; ++n) std::fill_n(y.at(p, n), columns_, part.values()[n - first]);
    multiply_panels(
        *this, part_of(weight, first, end), static_cast<bool>(bias), [&](int64_t p) { return y.at(p, first); },
        [](int64_t) {});
}

void product(int64_t rows, const float *x, const WeightRows &weight, const Tensor &bias, float *y,
             const float *residual) {
    for (int64_t row = 0; row < rows; row += PackedRows::most) {
        const int64_t count = std::min(PackedRows::most, rows - row), to = row * weight.rows;
        const float *const from = x + row * weight.values, *const added = residual == nullptr ? nullptr : residual + to;
        if (FewRowsFor::suits(weight, count)) {
            const FewRowsFor few(weight, from, count);
            if (few.there()) {
                for_parts(weight, count,
                          [&](int64_t first, int64_t end) { few.product(weight, bias, y + to, added, first, end); });
                continue;
            }
        }
        const PackedRows packed(from, count, weight.values);
        for_tiles(weight, [&](int64_t first, int64_t end) { packed.product(weight, bias, y + to, added, first, end); });
    }
}

} // namespace lamina::plugin::cpu_fallback
