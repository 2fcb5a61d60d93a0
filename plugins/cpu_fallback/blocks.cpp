// Compiled once for each kind of processor: foreach_target.h includes this file again for every one of them.
#include "blocks.hpp"

#include <lamina/plugin/call.hpp>

#include <cstring>

#define HWY_BROKEN_EMU128                                                                                              \
    0 // what GCC 12.2 breaks in it, MulHigh, is not used here; its vectors have 16 bytes as all others
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// 32 values of a block as all formats have them in the end: q * scale + offset, with a scale for each 16.
struct Group {
    alignas(64) int8_t q[32];
    float scale[2], offset;
};

constexpr hn::FixedTag<uint8_t, 16> bytes16;
constexpr hn::FixedTag<int8_t, 16> signed16;
using Bytes = hn::Vec<decltype(bytes16)>;

HWY_ATTR Bytes load(const std::byte *at) { return hn::LoadU(bytes16, reinterpret_cast<const uint8_t *>(at)); }
HWY_ATTR void store(Bytes q, int offset, int8_t *to) {
    hn::StoreU(hn::Sub(hn::BitCast(signed16, q), hn::Set(signed16, static_cast<int8_t>(offset))), signed16, to);
}
// Bytes shifted, each alone.
HWY_ATTR Bytes shifted(Bytes b, int by, uint8_t mask) {
    constexpr hn::FixedTag<uint16_t, 8> words;
    const auto moved = hn::BitCast(bytes16, hn::ShiftRightSame(hn::BitCast(words, b), by));
    return hn::And(moved, hn::Set(bytes16, mask));
}
HWY_ATTR Bytes nibbles(Bytes b, bool upper) { return shifted(b, upper ? 4 : 0, 0x0f); }
// The lowest bits of bytes as others.
HWY_ATTR Bytes moved_up(Bytes b) {
    constexpr hn::FixedTag<uint16_t, 8> words;
    return hn::BitCast(bytes16, hn::ShiftLeft<4>(hn::BitCast(words, b)));
}
// Of 16 bits each as the fifth bit of a byte.
HWY_ATTR Bytes fifth_bits(uint32_t bits) {
    alignas(16) static constexpr uint8_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    alignas(16) uint8_t spread[16];
    std::memset(spread, static_cast<int>(bits & 255U), 8);
    std::memset(spread + 8, static_cast<int>(bits >> 8U & 255U), 8);
    const auto mask = hn::Load(bytes16, bit);
    const auto set = hn::Eq(hn::And(hn::Load(bytes16, spread), mask), mask);
    return hn::IfThenElseZero(set, hn::Set(bytes16, uint8_t{16}));
}

// ---- Group `g` of a block, format by format ----

template <class Format> struct Unpack;

template <> struct Unpack<Q8_0> {
    HWY_ATTR static void group(const std::byte *block, int64_t /*g*/, Group &out) {
        std::memcpy(out.q, block + 2, 32);
        out.scale[0] = out.scale[1] = detail::half_at(block);
        out.offset = 0;
    }
};

template <int Bits, bool Minimum> struct Unpack<FewBits<Bits, Minimum>> {
    using Format = FewBits<Bits, Minimum>;
    HWY_ATTR static void group(const std::byte *block, int64_t /*g*/, Group &out) {
        const Bytes low = load(block + Format::low_at);
        Bytes first = nibbles(low, false), second = nibbles(low, true);
        if constexpr (Bits == 5) {
            uint32_t fifth = 0;
            std::memcpy(&fifth, block + Format::fifth_at, sizeof fifth);
            first = hn::Or(first, fifth_bits(fifth)), second = hn::Or(second, fifth_bits(fifth >> 16U));
        }
        store(first, Minimum ? 0 : Format::middle, out.q);
        store(second, Minimum ? 0 : Format::middle, out.q + 16);
        out.scale[0] = out.scale[1] = detail::half_at(block);
        out.offset = Minimum ? detail::half_at(block + 2) : 0;
    }
};

template <int Bits> struct Unpack<FewBitsK<Bits>> {
    using Format = FewBitsK<Bits>;
    HWY_ATTR static void group(const std::byte *block, int64_t g, Group &out) {
        for (int64_t half = 0; half < 2; ++half) {
            Bytes q = nibbles(load(block + Format::low_at + g / 2 * 32 + half * 16), g % 2 != 0);
            if constexpr (Bits == 5)
                q = hn::Or(q, moved_up(shifted(load(block + Format::fifth_at + half * 16), static_cast<int>(g), 1)));
            store(q, 0, out.q + half * 16);
        }
        typename Format::Numbers scales{}, minima{};
        Format::unpack(block + 4, scales, minima);
        const auto part = static_cast<size_t>(g);
        out.scale[0] = out.scale[1] = detail::half_at(block) * static_cast<float>(scales[part]);
        out.offset = -detail::half_at(block + 2) * static_cast<float>(minima[part]);
    }
};

template <> struct Unpack<Q6_K> {
    HWY_ATTR static void group(const std::byte *block, int64_t g, Group &out) {
        const auto [low, high, upper, shift] = Q6_K::place_of(g * 32);
        const float scale = detail::half_at(block + Q6_K::scale_at);
        for (int64_t half = 0; half < 2; ++half) {
            const Bytes upper_bits = moved_up(shifted(load(block + high + half * 16), static_cast<int>(shift), 3));
            store(hn::Or(nibbles(load(block + low + half * 16), upper), upper_bits), 32, out.q + half * 16);
            const auto steps = static_cast<int8_t>(block[Q6_K::scales_at + g * 2 + half]);
            out.scale[half] = scale * static_cast<float>(steps);
        }
        out.offset = 0;
    }
};

// ---- What is done with groups ----

constexpr hn::CappedTag<float, 16> floats; // a group has two times 16
using Floats = hn::Vec<decltype(floats)>;

// Values i, i + 1, ... of a group: as many as a vector holds.
HWY_ATTR Floats values_of(const Group &group, int64_t i) {
    constexpr hn::Rebind<int8_t, decltype(floats)> small;
    constexpr hn::Rebind<int32_t, decltype(floats)> integers;
    const auto q = hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(small, group.q + i)));
    return hn::MulAdd(q, hn::Set(floats, group.scale[i / 16]), hn::Set(floats, group.offset));
}

// Calls f(group, index of its first value) for all groups of a row.
template <class Format, class F> HWY_ATTR void for_groups(const BlockRow &row, F &&f) {
    Group group;
    for (int64_t first = 0; first < row.values; first += 32) {
        Unpack<Format>::group(row.blocks + first / Format::values * Format::bytes, first % Format::values / 32, group);
        f(group, first);
    }
}

// Four rows of x at a time: a block is unpacked once for all of them.
template <class Format> HWY_ATTR void dots4(const BlockRow &row, const float *x, float *sums, int64_t step) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
    Floats a = hn::Zero(floats), b = a, c = a, d = a;
    for_groups<Format>(row, [&](const Group &group, int64_t first) HWY_ATTR {
        for (int64_t i = 0; i < 32; i += lanes) {
            const Floats w = values_of(group, i);
            const float *at = x + first + i;
            a = hn::MulAdd(w, hn::LoadU(floats, at), a);
            b = hn::MulAdd(w, hn::LoadU(floats, at + row.values), b);
            c = hn::MulAdd(w, hn::LoadU(floats, at + 2 * row.values), c);
            d = hn::MulAdd(w, hn::LoadU(floats, at + 3 * row.values), d);
        }
    });
    sums[0] += hn::GetLane(hn::SumOfLanes(floats, a));
    sums[step] += hn::GetLane(hn::SumOfLanes(floats, b));
    sums[2 * step] += hn::GetLane(hn::SumOfLanes(floats, c));
    sums[3 * step] += hn::GetLane(hn::SumOfLanes(floats, d));
}

template <class Format> HWY_ATTR void dot(const BlockRow &row, const float *x, float *sum) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
    Floats a = hn::Zero(floats), b = a; // two, since each waits for its last sum
    for_groups<Format>(row, [&](const Group &group, int64_t first) HWY_ATTR {
        for (int64_t i = 0; i < 16; i += lanes) {
            a = hn::MulAdd(values_of(group, i), hn::LoadU(floats, x + first + i), a);
            b = hn::MulAdd(values_of(group, i + 16), hn::LoadU(floats, x + first + i + 16), b);
        }
    });
    *sum += hn::GetLane(hn::SumOfLanes(floats, hn::Add(a, b)));
}

// Calls f.operator()<Format>() with the format of a dtype.
template <class F> HWY_ATTR void with_format(uint32_t dtype, F &&f) {
    switch (dtype) {
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

} // namespace

HWY_ATTR void add_dots(const BlockRow &row, const float *x, int64_t rows, float *sums, int64_t step) {
    with_format(row.dtype, [&]<class Format>() HWY_ATTR {
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4) dots4<Format>(row, x + r * row.values, sums + r * step, step);
        for (; r < rows; ++r) dot<Format>(row, x + r * row.values, sums + r * step);
    });
}

HWY_ATTR void widen(const BlockRow &row, float *out) {
    with_format(row.dtype, [&]<class Format>() HWY_ATTR {
        const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
        for_groups<Format>(row, [&](const Group &group, int64_t first) HWY_ATTR {
            for (int64_t i = 0; i < 32; i += lanes) hn::StoreU(values_of(group, i), floats, out + first + i);
        });
    });
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(add_dots);
HWY_EXPORT(widen);

void add_dots(const BlockRow &row, const float *x, int64_t rows, float *sums, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_dots)(row, x, rows, sums, step);
}
void widen(const BlockRow &row, float *out) { HWY_DYNAMIC_DISPATCH(widen)(row, out); }

} // namespace lamina::plugin::cpu_fallback
#endif
