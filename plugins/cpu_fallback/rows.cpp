// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "rows.hpp"

#include <lamina/plugin/call.hpp>

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

// Calls f.operator()<I>() for I from 0 to Count - 1.
template <int Count, class F> HWY_INLINE void unrolled(F &&f) {
    [&]<int... I>(std::integer_sequence<int, I...>) HWY_ATTR { (f.template operator()<I>(), ...); }
    (std::make_integer_sequence<int, Count>());
}

// How far ahead of the multiplications memory is read. On their own, processors do not read ahead beyond a page.
constexpr int64_t ahead = 1024;

// Calls f(block, index of its first value) for all blocks of a row. The last single values of a row may be fewer than a
// group; zeros follow.
template <class Format, class F> HWY_INLINE void for_blocks(const std::byte *row, int64_t values, F &&f) {
    using Block = Unpacked<Format>;
    int64_t first = 0;
    for (; first + Block::values <= values; first += Block::values, row += Block::bytes) {
        hwy::Prefetch(row + ahead);
        f(Block(row), first);
    }
    if constexpr (Block::scales == 0)
        if (first < values) {
            std::byte last[Block::bytes] = {};
            std::memcpy(last, row, static_cast<size_t>((values - first) * Format::bytes));
            f(Block(last), first);
        }
}

// Multiplies one row of the weight with a few rows of x. Each block is unpacked once for all of them. The values of a
// group are added up before they are scaled: that takes fewer multiplications, and shorter chains of additions.
template <class Format, size_t Rows>
HWY_INLINE void add_row(const std::byte *row, int64_t values, const SummedRows &x, float *y, int64_t step) {
    using Block = Unpacked<Format>;
    constexpr int parts = std::max(Block::scales, 1), vectors = group / parts / lanes;
    Floats sums[Rows];
    FourFloats minima[Rows];
    std::fill_n(sums, Rows, hn::Zero(floats));
    std::fill_n(minima, Rows, hn::Zero(four_floats));
    for_blocks<Format>(row, values, [&](const Block &block, int64_t first) HWY_ATTR {
        const float *at = x.values + first;
        for (int g = 0; g < Block::values / group; ++g, at += group) {
            const auto unpacked = block.group(g);
            unrolled<parts>([&]<int Part>() HWY_ATTR {
                Floats part[Rows];
                unrolled<vectors>([&]<int V>() HWY_ATTR {
                    constexpr int i = (Part * vectors + V) * lanes;
                    const Floats w = unpacked.template at<i>();
                    for (size_t r = 0; r < Rows; ++r) {
                        const Floats v = hn::LoadU(floats, at + static_cast<int64_t>(r) * x.step + i);
                        part[r] = V == 0 ? hn::Mul(w, v) : hn::MulAdd(w, v, part[r]);
                    }
                });
                for (size_t r = 0; r < Rows; ++r)
                    if constexpr (Block::scales == 0)
                        sums[r] = hn::Add(part[r], sums[r]);
                    else
                        sums[r] = hn::MulAdd(part[r], block.scale(g, Part), sums[r]);
            });
        }
        if constexpr (Block::has_minimum)
            for (size_t r = 0; r < Rows; ++r)
                minima[r] = block.add_minima(x.sums + (static_cast<int64_t>(r) * x.step + first) / group, minima[r]);
    });
    for (size_t r = 0; r < Rows; ++r) {
        float sum = hn::GetLane(hn::SumOfLanes(floats, sums[r]));
        if constexpr (Block::has_minimum) sum += hn::GetLane(hn::SumOfLanes(four_floats, minima[r]));
        y[static_cast<int64_t>(r) * step] += sum;
    }
}

template <class Format> HWY_ATTR void add_rows(const WeightRows &weight, SummedRows x, float *y, int64_t step) {
    const auto add = [&]<size_t Rows>() HWY_ATTR {
        const std::byte *row = weight.first;
        for (int64_t n = 0; n < weight.rows; ++n, row += weight.step)
            add_row<Format, Rows>(row, weight.values, x, y + n, step);
        constexpr auto taken = static_cast<int64_t>(Rows);
        x.values += taken * x.step, x.rows -= taken;
        if (x.sums != nullptr) x.sums += taken * x.step / group;
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
    using Block = Unpacked<Format>;
    constexpr int vectors = group / lanes;
    Floats sums[Rows][vectors];
    for (auto &sum : sums) std::fill_n(sum, vectors, hn::Zero(floats));
    const auto add = [&](const Block &block, int64_t n) HWY_ATTR {
        unrolled<vectors>([&]<int V>() HWY_ATTR {
            const Floats values = block.group(0).template at<V * lanes>();
            for (size_t r = 0; r < Rows; ++r)
                sums[r][V] = hn::MulAdd(hn::Set(floats, x[static_cast<int64_t>(r) * x_step + n]), values, sums[r][V]);
        });
    };
    for (int64_t n = 0; n < rows.rows; ++n, at += rows.step)
        for_blocks<Format>(at, cols, [&](const Block &block, int64_t) HWY_ATTR { add(block, n); });
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
    for (int64_t c = 0; c < rows.values; c += group, at += group * Format::bytes) {
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
    case LAMINA_Q4_0:
        return f.template operator()<Q4_0>();
    case LAMINA_Q4_1:
        return f.template operator()<Q4_1>();
    case LAMINA_Q5_0:
        return f.template operator()<Q5_0>();
    case LAMINA_Q5_1:
        return f.template operator()<Q5_1>();
    case LAMINA_Q4_K:
        return f.template operator()<Q4_K>();
    case LAMINA_Q5_K:
        return f.template operator()<Q5_K>();
    case LAMINA_Q6_K:
        return f.template operator()<Q6_K>();
    default:
        throw Unsupported("no CPU kernel for weights of dtype " + std::to_string(dtype));
    }
}

template <class Block> HWY_INLINE void widen_block(const Block &block, float *out) {
    for (int g = 0; g < Block::values / group; ++g, out += group) {
        const auto unpacked = block.group(g);
        unrolled<group / lanes>([&]<int V>() HWY_ATTR {
            constexpr int i = V * lanes;
            Floats w = unpacked.template at<i>();
            if constexpr (Block::has_minimum)
                w = hn::MulAdd(w, block.scale(g, 0), block.minimum(g));
            else if constexpr (Block::scales != 0)
                w = hn::Mul(w, block.scale(g, Block::scales == 1 ? 0 : i / (group / 2)));
            hn::StoreU(w, floats, out + i);
        });
    }
}

} // namespace

HWY_ATTR void add_products(const WeightRows &weight, const SummedRows &x, float *y, int64_t step) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR { add_rows<Format>(weight, x, y, step); });
}

HWY_ATTR void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y,
                           int64_t step) {
    if (rows.dtype == LAMINA_F16)
        add_weighted_rows<F16>(rows, x, x_step, count, y, step);
    else
        add_weighted_rows<Words>(rows, x, x_step, count, y, step);
}

HWY_ATTR void widen(const WeightRows &weight, float *out) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR {
        // All rows together are like one long row, because they are whole blocks.
        const int64_t values = weight.rows * weight.values;
        for_blocks<Format>(weight.first, values, [&](const Unpacked<Format> &block, int64_t first) HWY_ATTR {
            if (first + Unpacked<Format>::values <= values) return widen_block(block, out + first);
            float last[Unpacked<Format>::values];
            widen_block(block, last);
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

void add_products(const WeightRows &weight, const SummedRows &x, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_products)(weight, x, y, step);
}
void add_weighted(const WeightRows &rows, const float *x, int64_t x_step, int64_t count, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_weighted)(rows, x, x_step, count, y, step);
}
void widen(const WeightRows &weight, float *out) { HWY_DYNAMIC_DISPATCH(widen)(weight, out); }

} // namespace lamina::plugin::cpu_fallback
#endif
