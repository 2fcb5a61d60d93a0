// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "rows.hpp"
#include "matrix.hpp"

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/plan.hpp> // ceil_div()

#include <algorithm>
#include <cstring>
#include <utility>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "unpack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

// For lambdas. Compilers would call some of them for each vector, because the code becomes long.
#define INLINED HWY_ATTR __attribute__((always_inline))

// Calls f.operator()<I>() for I from 0 to Count - 1.
template <int Count, class F> HWY_INLINE void unrolled(F &&f) {
    [&]<int... I>(std::integer_sequence<int, I...>) INLINED { (f.template operator()<I>(), ...); }
    (std::make_integer_sequence<int, Count>());
}

// How far ahead of the multiplications memory is read. On their own, processors do not read ahead beyond a page.
constexpr int64_t ahead = 4096;

// Calls f(group, index of its first value) for all groups of a row. The last single values of a row may be fewer than a
// group; zeros follow.
template <class Format, class F> HWY_INLINE void for_groups(const std::byte *row, int64_t values, F &&f) {
    using Group = Unpacked<Format>;
    int64_t first = 0;
    for (; first + group <= values; first += group, row += Group::bytes) {
        hwy::Prefetch(row + ahead);
        f(Group(row), first);
    }
    if constexpr (Format::values == 1)
        if (first < values) {
            std::byte last[Group::bytes] = {};
            std::memcpy(last, row, static_cast<size_t>((values - first) * Format::bytes));
            f(Group(last), first);
        }
}

// Multiplies one row of the weight with a few rows of x. The values of a group are added up before they are scaled:
// that takes fewer multiplications, and shorter chains of additions.
template <class Format, size_t Rows>
HWY_INLINE void add_row(const std::byte *row, int64_t values, const FewRows &x, float *y, int64_t step) {
    Floats sums[Rows];
    std::fill_n(sums, Rows, hn::Zero(floats));
    for_groups<Format>(row, values, [&](const Unpacked<Format> &unpacked, int64_t first) HWY_ATTR {
        Floats part[Rows];
        unrolled<group / lanes>([&]<int V>() INLINED {
            const Floats w = unpacked.template at<V * lanes>();
            for (size_t r = 0; r < Rows; ++r) {
                const float *const at = x.values + static_cast<int64_t>(r) * x.step + first + V * lanes;
                const Floats v = hn::LoadU(floats, at);
                part[r] = V == 0 ? hn::Mul(w, v) : hn::MulAdd(w, v, part[r]);
            }
        });
        for (size_t r = 0; r < Rows; ++r)
            if constexpr (Unpacked<Format>::scaled)
                sums[r] = hn::MulAdd(part[r], unpacked.scale, sums[r]);
            else
                sums[r] = hn::Add(part[r], sums[r]);
    });
    for (size_t r = 0; r < Rows; ++r) y[static_cast<int64_t>(r) * step] += hn::GetLane(hn::SumOfLanes(floats, sums[r]));
}

template <class Format> HWY_ATTR void add_rows(const WeightRows &weight, FewRows x, float *y, int64_t step) {
    const auto add = [&]<size_t Rows>() HWY_ATTR {
        const std::byte *row = weight.first;
        for (int64_t n = 0; n < weight.rows; ++n, row += weight.step)
            add_row<Format, Rows>(row, weight.values, x, y + n, step);
        constexpr auto taken = static_cast<int64_t>(Rows);
        x.values += taken * x.step, x.rows -= taken;
        y += taken * step;
    };
#if HWY_TARGET != HWY_EMU128 // which takes most of the time that this file takes to compile, and is hardly ever used
    while (x.rows >= 4) add.template operator()<4>();
    while (x.rows >= 2) add.template operator()<2>();
#endif
    while (x.rows >= 1) add.template operator()<1>();
}

// A group of columns of a few sums of rows, each row weighted with its value of x.
template <class Format, size_t Rows>
HWY_INLINE void add_weighted_group(const std::byte *at, const WeightRows &rows, int64_t cols, const float *x,
                                   int64_t x_step, float *y, int64_t step) {
    constexpr int vectors = group / lanes;
    Floats sums[Rows][vectors];
    for (auto &sum : sums) std::fill_n(sum, vectors, hn::Zero(floats));
    const auto add = [&](const Unpacked<Format> &unpacked, int64_t n) HWY_ATTR {
        Floats share[Rows];
        for (size_t r = 0; r < Rows; ++r) {
            share[r] = hn::Set(floats, x[static_cast<int64_t>(r) * x_step + n]);
            if constexpr (Unpacked<Format>::scaled) share[r] = hn::Mul(share[r], unpacked.scale);
        }
        unrolled<vectors>([&]<int V>() INLINED {
            const Floats values = unpacked.template at<V * lanes>();
            for (size_t r = 0; r < Rows; ++r) sums[r][V] = hn::MulAdd(share[r], values, sums[r][V]);
        });
    };
    for (int64_t n = 0; n < rows.rows; ++n, at += rows.step)
        for_groups<Format>(at, cols, [&](const Unpacked<Format> &group, int64_t) HWY_ATTR { add(group, n); });
    for (size_t r = 0; r < Rows; ++r) {
        alignas(64) float sum[group];
        for (int64_t v = 0; v < vectors; ++v) hn::Store(sums[r][v], floats, sum + v * lanes);
        for (int64_t c = 0; c < cols; ++c) y[static_cast<int64_t>(r) * step + c] += sum[c];
    }
}

template <class Format>
HWY_ATTR void add_weighted_rows(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y,
                                int64_t step) {
    const std::byte *at = rows.first;
    for (int64_t c = 0; c < rows.values; c += group, at += Unpacked<Format>::bytes) {
        const int64_t cols = std::min(group, rows.values - c);
        int64_t r = 0;
        for (; r + 2 <= count; r += 2)
            add_weighted_group<Format, 2>(at, rows, cols, x + r * x_step, x_step, y + r * step + c, step);
        for (; r < count; ++r)
            add_weighted_group<Format, 1>(at, rows, cols, x + r * x_step, x_step, y + r * step + c, step);
    }
}

// Calls f.operator()<Format>() with the format of a dtype.
template <class F> HWY_ATTR void with_format(uint32_t dtype, F &&f) {
    switch (dtype) {
    case LAMINA_F32:
        return f.template operator()<Words>();
    case LAMINA_F16:
        return f.template operator()<F16>();
    case LAMINA_BF16:
        return f.template operator()<BF16>();
    case LAMINA_Q8_0:
        return f.template operator()<Q8_0>();
    default:
        throw Unsupported("no CPU kernel for weights of dtype " + std::to_string(dtype));
    }
}

template <class Format> HWY_INLINE void widen_group(const Unpacked<Format> &unpacked, float *out) {
    unrolled<group / lanes>([&]<int V>() INLINED {
        Floats w = unpacked.template at<V * lanes>();
        if constexpr (Unpacked<Format>::scaled) w = hn::Mul(w, unpacked.scale);
        hn::StoreU(w, floats, out + V * lanes);
    });
}
} // namespace

HWY_ATTR void add_products(const WeightRows &weight, const FewRows &x, float *y, int64_t step) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR { add_rows<Format>(weight, x, y, step); });
}

HWY_ATTR void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y,
                           int64_t step) {
    if (rows.dtype == LAMINA_Q8_0)
        add_weighted_rows<Q8_0>(rows, x, x_step, count, y, step);
    else if (rows.dtype == LAMINA_F16)
        add_weighted_rows<F16>(rows, x, x_step, count, y, step);
    else
        add_weighted_rows<Words>(rows, x, x_step, count, y, step);
}

HWY_ATTR void widen(const WeightRows &weight, float *out) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR {
        // All rows together are like one long row, because they are whole blocks.
        const int64_t values = weight.rows * weight.values;
        for_groups<Format>(weight.first, values, [&](const Unpacked<Format> &unpacked, int64_t first) HWY_ATTR {
            if (first + group <= values) return widen_group(unpacked, out + first);
            float last[group];
            widen_group(unpacked, last);
            std::copy_n(last, values - first, out + first);
        });
    });
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(add_products);
HWY_EXPORT(add_weighted);
HWY_EXPORT(widen);

void add_products(const WeightRows &weight, const FewRows &x, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_products)(weight, x, y, step);
}
void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_weighted)(rows, x, x_step, count, y, step);
}
void widen(const WeightRows &weight, float *out) { HWY_DYNAMIC_DISPATCH(widen)(weight, out); }

} // namespace lamina::plugin::cpu_fallback
#endif
