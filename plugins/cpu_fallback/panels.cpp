// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "panels.hpp"

#include <algorithm>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "panels.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
constexpr hn::FixedTag<float, 4> quad;
constexpr hn::FixedTag<uint64_t, 2> pairs;

constexpr int most_vectors = 4; // of a row of a panel

// Sums that are computed together: registers have room for so many, and for what is read. AVX-512 has twice as many.
constexpr int sums_together = lanes == 16 ? 24 : 12;

// Sums of this many products are rounded together: errors grow with the length of a sum. What they read stays in the
// first cache.
constexpr int64_t summed = 64;

constexpr int64_t line_floats = 16; // of a cache line

// A few rows of the product. Each value of a is multiplied with a row of x.
template <int Rows, int Vectors>
HWY_INLINE void multiply_rows(const Strided &a, int64_t inner, const float *x, float *y, bool add) {
    Floats sums[Rows][Vectors];
    for (auto &row : sums) std::fill_n(row, Vectors, hn::Zero(floats));
    const float *at = a.values;
    for (int64_t i = 0; i < inner; ++i, at += a.inner_step, x += Vectors * lanes) {
        Floats v[Vectors];
        for (int c = 0; c < Vectors; ++c) v[c] = hn::LoadU(floats, x + c * lanes);
        for (int r = 0; r < Rows; ++r) {
            const Floats factor = hn::Set(floats, at[r * a.row_step]);
            for (int c = 0; c < Vectors; ++c) sums[r][c] = hn::MulAdd(factor, v[c], sums[r][c]);
        }
    }
    for (int r = 0; r < Rows; ++r)
        for (int c = 0; c < Vectors; ++c, y += lanes)
            hn::StoreU(add ? hn::Add(sums[r][c], hn::LoadU(floats, y)) : sums[r][c], floats, y);
}

template <int Vectors>
HWY_ATTR void multiply(const Strided &a, int64_t rows, int64_t inner, const float *x, float *y, bool add) {
    constexpr int together = sums_together / Vectors;
    constexpr int64_t columns = Vectors * lanes;
    for (int64_t begin = 0; begin < inner; begin += summed) {
        const int64_t count = std::min(summed, inner - begin);
        Strided part{a.values + begin * a.inner_step, a.row_step, a.inner_step};
        float *out = y;
        // What follows in memory is needed next: the next values, or the next panel.
        const float *next = x + (begin + count) * columns;
        const int64_t share = summed * columns / line_floats * together / std::max<int64_t>(rows, 1) + 1;
        int64_t r = 0;
        for (; r + together <= rows; r += together, part.values += together * a.row_step, out += together * columns) {
            for (int64_t i = 0; i < share; ++i, next += line_floats) hwy::Prefetch(next);
            multiply_rows<together, Vectors>(part, count, x + begin * columns, out, add || begin != 0);
        }
        for (; r + 2 <= rows; r += 2, part.values += 2 * a.row_step, out += 2 * columns)
            multiply_rows<2, Vectors>(part, count, x + begin * columns, out, add || begin != 0);
        if (r < rows) multiply_rows<1, Vectors>(part, count, x + begin * columns, out, add || begin != 0);
    }
}

// ---- Transposing ----

using Quad = hn::Vec<decltype(quad)>;

// Calls f(index of a row, index of a value, 4 values) for 4x4 values, transposed: of rows of length 4 that are `step`
// apart.
template <class F> HWY_INLINE void transpose_4x4(const float *rows, int64_t step, F &&f) {
    const auto row = [&](int64_t r) HWY_ATTR { return hn::LoadU(quad, rows + r * step); };
    const auto lower = [](Quad a, Quad b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(quad, a, b)); };
    const auto upper = [](Quad a, Quad b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(quad, a, b)); };
    const auto a = lower(row(0), row(1)), b = lower(row(2), row(3)), c = upper(row(0), row(1)),
               d = upper(row(2), row(3));
    f(0, hn::BitCast(quad, hn::InterleaveLower(pairs, a, b)));
    f(1, hn::BitCast(quad, hn::InterleaveUpper(pairs, a, b)));
    f(2, hn::BitCast(quad, hn::InterleaveLower(pairs, c, d)));
    f(3, hn::BitCast(quad, hn::InterleaveUpper(pairs, c, d)));
}

// Multiplies the columns of one vector.
HWY_INLINE void scale_columns(float *values, int64_t rows, int64_t step, Floats factor) {
    for (int64_t r = 0; r < rows; ++r)
        hn::StoreU(hn::Mul(hn::LoadU(floats, values + r * step), factor), floats, values + r * step);
}

// softmax_block() of the columns of one vector.
HWY_INLINE void softmax_columns(float *values, int64_t rows, int64_t step, float *greatest_so_far, float *total_so_far,
                                float *sums, int64_t inner) {
    const Floats before = hn::LoadU(floats, greatest_so_far);
    Floats greatest = before;
    for (int64_t r = 0; r < rows; ++r) greatest = hn::Max(greatest, hn::LoadU(floats, values + r * step));
    const Floats scale = hn::Exp(floats, hn::Sub(before, greatest));
    scale_columns(sums, inner, step, scale);
    Floats total = hn::Mul(hn::LoadU(floats, total_so_far), scale);
    for (int64_t begin = 0; begin < rows; begin += summed) {
        Floats part = hn::Zero(floats);
        for (int64_t r = begin; r < std::min(begin + summed, rows); ++r) {
            const Floats v = hn::Sub(hn::LoadU(floats, values + r * step), greatest);
            const Floats e = hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(floats, v));
            hn::StoreU(e, floats, values + r * step);
            part = hn::Add(part, e);
        }
        total = hn::Add(total, part);
    }
    hn::StoreU(greatest, floats, greatest_so_far);
    hn::StoreU(total, floats, total_so_far);
}

} // namespace

HWY_ATTR int64_t panel_columns(int64_t rows) {
    return rows > 2 * lanes ? most_vectors * lanes : rows > lanes ? 2 * lanes : lanes;
}

HWY_ATTR void pack_panel(const FloatRows &rows, int64_t inner, float *panel, int64_t columns) {
    const int64_t whole = rows.rows / 4 * 4, even = inner / 4 * 4;
    const auto pack = [&](int64_t first_row, int64_t end_row, int64_t first, int64_t end) {
        for (int64_t r = first_row; r < end_row; ++r)
            for (int64_t i = first; i < end; ++i) panel[i * columns + r] = rows.values[r * rows.step + i];
    };
    // A cache line of each row is read at once, and one of the panel is written at once.
    for (int64_t block = 0; block < whole; block += line_floats)
        for (int64_t line = 0; line < even; line += line_floats)
            for (int64_t r = block; r < std::min(block + line_floats, whole); r += 4)
                for (int64_t i = line; i < std::min(line + line_floats, even); i += 4)
                    transpose_4x4(rows.values + r * rows.step + i, rows.step, [&](int64_t at, Quad v) HWY_ATTR {
                        hn::StoreU(v, quad, panel + (i + at) * columns + r);
                    });
    pack(0, whole, even, inner);
    pack(whole, rows.rows, 0, inner);
    if (rows.rows < columns)
        for (int64_t i = 0; i < inner; ++i) std::fill_n(panel + i * columns + rows.rows, columns - rows.rows, 0.0F);
}

HWY_ATTR void unpack_panel(const float *panel, int64_t inner, int64_t columns, const float *bias, const float *added,
                           float *y, int64_t rows, int64_t step) {
    const int64_t whole = rows / 4 * 4, even = inner / 4 * 4;
    const auto unpack = [&](int64_t first_row, int64_t end_row, int64_t first, int64_t end) {
        for (int64_t r = first_row; r < end_row; ++r)
            for (int64_t i = first; i < end; ++i)
                y[r * step + i] = panel[i * columns + r] + (bias != nullptr ? bias[i] : 0.0F) +
                                  (added != nullptr ? added[r * step + i] : 0.0F);
    };
    for (int64_t r = 0; r < whole; r += 4)
        for (int64_t i = 0; i < even; i += 4)
            transpose_4x4(panel + i * columns + r, columns, [&](int64_t at, Quad v) HWY_ATTR {
                const int64_t to = (r + at) * step + i;
                if (bias != nullptr) v = hn::Add(v, hn::LoadU(quad, bias + i));
                if (added != nullptr) v = hn::Add(v, hn::LoadU(quad, added + to));
                hn::StoreU(v, quad, y + to);
            });
    unpack(0, whole, even, inner);
    unpack(whole, rows, 0, inner);
}

HWY_ATTR void multiply_panel(const Strided &a, int64_t rows, int64_t inner, const float *x, float *y, int64_t columns,
                             bool add) {
    if (inner == 0 && !add) std::fill_n(y, rows * columns, 0.0F);
    if (columns == lanes) return multiply<1>(a, rows, inner, x, y, add);
    if (columns == 2 * lanes) return multiply<2>(a, rows, inner, x, y, add);
    return multiply<most_vectors>(a, rows, inner, x, y, add);
}

HWY_ATTR void softmax_block(float *values, int64_t rows, int64_t columns, const Softmax &softmax, float *sums,
                            int64_t inner) {
    for (int64_t c = 0; c < columns; c += lanes)
        softmax_columns(values + c, rows, columns, softmax.greatest + c, softmax.total + c, sums + c, inner);
}

HWY_ATTR void divide_by_totals(float *sums, int64_t inner, int64_t columns, const float *total) {
    for (int64_t c = 0; c < columns; c += lanes) {
        const Floats sum = hn::LoadU(floats, total + c);
        const Floats share = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(floats)), hn::Div(hn::Set(floats, 1.0F), sum));
        scale_columns(sums + c, inner, columns, share);
    }
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(panel_columns);
HWY_EXPORT(pack_panel);
HWY_EXPORT(unpack_panel);
HWY_EXPORT(multiply_panel);
HWY_EXPORT(softmax_block);
HWY_EXPORT(divide_by_totals);

int64_t panel_columns(int64_t rows) { return HWY_DYNAMIC_DISPATCH(panel_columns)(rows); }
void pack_panel(const FloatRows &rows, int64_t inner, float *panel, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(pack_panel)(rows, inner, panel, columns);
}
void unpack_panel(const float *panel, int64_t inner, int64_t columns, const float *bias, const float *added, float *y,
                  int64_t rows, int64_t step) {
    HWY_DYNAMIC_DISPATCH(unpack_panel)(panel, inner, columns, bias, added, y, rows, step);
}
void multiply_panel(const Strided &a, int64_t rows, int64_t inner, const float *x, float *y, int64_t columns,
                    bool add) {
    HWY_DYNAMIC_DISPATCH(multiply_panel)(a, rows, inner, x, y, columns, add);
}
void softmax_block(float *values, int64_t rows, int64_t columns, const Softmax &softmax, float *sums, int64_t inner) {
    HWY_DYNAMIC_DISPATCH(softmax_block)(values, rows, columns, softmax, sums, inner);
}
void divide_by_totals(float *sums, int64_t inner, int64_t columns, const float *total) {
    HWY_DYNAMIC_DISPATCH(divide_by_totals)(sums, inner, columns, total);
}

} // namespace lamina::plugin::cpu_fallback
#endif
