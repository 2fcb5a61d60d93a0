// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "panels.hpp"

#include <algorithm>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "panels.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
constexpr hn::FixedTag<float, 4> quad;
constexpr hn::RebindToSigned<decltype(floats)> ints;
constexpr hn::Repartition<uint64_t, decltype(floats)> pairs;

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

// load(row), load(row + 4)... as the blocks of a vector, which are of 4 values.
template <class D, class Load> HWY_INLINE auto blocks(D d, int64_t row, Load &&load) {
    if constexpr (hn::MaxLanes(D()) == 4) {
        return load(row);
    } else {
        const hn::Half<D> half;
        return hn::Combine(d, blocks(half, row + hn::MaxLanes(half), load), blocks(half, row, load));
    }
}

HWY_INLINE auto lower(Floats a, Floats b) { return hn::BitCast(pairs, hn::InterleaveLower(floats, a, b)); }
HWY_INLINE auto upper(Floats a, Floats b) { return hn::BitCast(pairs, hn::InterleaveUpper(floats, a, b)); }

// Calls f(i, value i of each row) for 4 values of as many rows as a vector has lanes. load(r) gives the 4 of row r.
template <class Load, class F> HWY_INLINE void transpose(Load &&load, F &&f) {
    // Transposing the blocks, 4 x 4 values each, transposes the whole.
    const auto r0 = blocks(floats, 0, load), r1 = blocks(floats, 1, load), r2 = blocks(floats, 2, load),
               r3 = blocks(floats, 3, load);
    const auto a = lower(r0, r1), b = lower(r2, r3), c = upper(r0, r1), d = upper(r2, r3);
    f(0, hn::BitCast(floats, hn::InterleaveLower(pairs, a, b)));
    f(1, hn::BitCast(floats, hn::InterleaveUpper(pairs, a, b)));
    f(2, hn::BitCast(floats, hn::InterleaveLower(pairs, c, d)));
    f(3, hn::BitCast(floats, hn::InterleaveUpper(pairs, c, d)));
}

// Multiplies the columns of one vector.
HWY_INLINE void scale_columns(float *values, int64_t rows, int64_t step, Floats factor) {
    for (int64_t r = 0; r < rows; ++r)
        hn::StoreU(hn::Mul(hn::LoadU(floats, values + r * step), factor), floats, values + r * step);
}

// e^x for x <= 0, to within 2e-7; 0 where that is too small for a float's exponent. NaN stays NaN.
HWY_INLINE Floats exp_of_negative(Floats x) {
    const auto set = [](float v) HWY_ATTR { return hn::Set(floats, v); };
    // e^x = 2^t = 2^n 2^f with an integer n. Added to this constant, t is rounded to n, and the last bits are n + 127.
    const Floats t = hn::Mul(x, set(1.44269504F)), constant = set(0x1.8p23F + 127), sum = hn::Add(t, constant);
    const Floats f = hn::Sub(t, hn::Sub(sum, constant));
    // 2^f for |f| <= 1/2, by the polynomial whose relative error is least.
    Floats power = hn::MulAdd(f, set(1.32647273e-3F), set(9.67151299e-3F));
    for (const float factor : {5.55073358e-2F, 2.40222424e-1F, 6.93147004e-1F, 1.0F})
        power = hn::MulAdd(f, power, set(factor));
    const Floats scale = hn::BitCast(floats, hn::ShiftLeft<23>(hn::BitCast(ints, sum)));
    return hn::IfThenZeroElse(hn::Lt(x, set(-87.3F)), hn::Mul(power, scale));
}

// softmax_block() of the columns of one vector.
HWY_INLINE void softmax_columns(float *values, int64_t rows, int64_t step, float *greatest_so_far, float *total_so_far,
                                float *sums, int64_t inner) {
    const Floats before = hn::LoadU(floats, greatest_so_far);
    Floats greatest = before;
    for (int64_t r = 0; r < rows; ++r) greatest = hn::Max(greatest, hn::LoadU(floats, values + r * step));
    const Floats scale = exp_of_negative(hn::Sub(before, greatest));
    scale_columns(sums, inner, step, scale);
    Floats total = hn::Mul(hn::LoadU(floats, total_so_far), scale);
    for (int64_t begin = 0; begin < rows; begin += summed) {
        Floats part = hn::Zero(floats);
        for (int64_t r = begin; r < std::min(begin + summed, rows); ++r) {
            const Floats e = exp_of_negative(hn::Sub(hn::LoadU(floats, values + r * step), greatest));
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
    const int64_t even = inner / 4 * 4;
    for (int64_t first = 0; first < columns; first += lanes) {
        const int64_t count = std::clamp<int64_t>(rows.rows - first, 0, lanes);
        const float *const from = rows.values + first * rows.step;
        for (int64_t i = 0; i < even; i += 4)
            transpose([&](int64_t r)
                          HWY_ATTR { return r < count ? hn::LoadU(quad, from + r * rows.step + i) : hn::Zero(quad); },
                      [&](int64_t at, Floats v)
                          HWY_ATTR { hn::StoreU(v, floats, panel + (i + at) * columns + first); });
        for (int64_t i = even; i < inner; ++i)
            for (int64_t r = 0; r < lanes; ++r)
                panel[i * columns + first + r] = r < count ? from[r * rows.step + i] : 0;
    }
}

HWY_ATTR void unpack_panel(const float *panel, int64_t inner, int64_t columns, const float *bias, const float *added,
                           float *y, int64_t rows, int64_t step) {
    const int64_t whole = rows / 4 * 4, even = inner / lanes * lanes;
    const auto unpack = [&](int64_t first_row, int64_t end_row, int64_t first, int64_t end) {
        for (int64_t r = first_row; r < end_row; ++r)
            for (int64_t i = first; i < end; ++i)
                y[r * step + i] = panel[i * columns + r] + (bias != nullptr ? bias[i] : 0.0F) +
                                  (added != nullptr ? added[r * step + i] : 0.0F);
    };
    for (int64_t r = 0; r < whole; r += 4)
        for (int64_t i = 0; i < even; i += lanes)
            transpose([&](int64_t at) HWY_ATTR { return hn::LoadU(quad, panel + (i + at) * columns + r); },
                      [&](int64_t at, Floats v) HWY_ATTR {
                          const int64_t to = (r + at) * step + i;
                          if (bias != nullptr) v = hn::Add(v, hn::LoadU(floats, bias + i));
                          if (added != nullptr) v = hn::Add(v, hn::LoadU(floats, added + to));
                          hn::StoreU(v, floats, y + to);
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
