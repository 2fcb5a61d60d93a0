// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "blocks.hpp"

#include <lamina/plugin/call.hpp>

#include <algorithm>
#include <cstring>

// GCC 12.2 miscompiles MulHigh for EMU128, which is not used here.
#define HWY_BROKEN_EMU128 0
// Vectors are stored in arrays here, so their size must be known at compile time.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// 32 values of a block, in the form that all formats reduce to: q * scale + offset, with one scale per 16 values.
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
// Shifts each byte separately.
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
// The lower or the upper 16 bits, each as bit 4 of a byte.
HWY_ATTR Bytes fifth_bits(uint32_t bits, bool upper) {
    alignas(16) static constexpr uint8_t byte[2][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                                                        {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};
    alignas(16) static constexpr uint8_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    constexpr hn::FixedTag<uint32_t, 4> words;
    const Bytes spread =
        hn::TableLookupBytes(hn::BitCast(bytes16, hn::Set(words, bits)), hn::Load(bytes16, byte[upper ? 1 : 0]));
    const Bytes mask = hn::Load(bytes16, bit);
    return hn::IfThenElseZero(hn::Eq(hn::And(spread, mask), mask), hn::Set(bytes16, uint8_t{16}));
}

// ---- Unpacking the groups of a block, one format after another ----

template <class Format> struct Unpack;
template <class Format> constexpr int64_t groups_of = Format::values / 32;

template <> struct Unpack<Q8_0> {
    static constexpr bool has_offset = false;
    HWY_ATTR static void block(const std::byte *block, Group *out) {
        std::memcpy(out->q, block + 2, 32);
        out->scale[0] = out->scale[1] = detail::half_at(block);
        out->offset = 0;
    }
};

template <int Bits, bool Minimum> struct Unpack<FewBits<Bits, Minimum>> {
    using Format = FewBits<Bits, Minimum>;
    static constexpr bool has_offset = Minimum;
    HWY_ATTR static void block(const std::byte *block, Group *out) {
        const Bytes low = load(block + Format::low_at);
        Bytes first = nibbles(low, false), second = nibbles(low, true);
        if constexpr (Bits == 5) {
            uint32_t fifth = 0;
            std::memcpy(&fifth, block + Format::fifth_at, sizeof fifth);
            first = hn::Or(first, fifth_bits(fifth, false)), second = hn::Or(second, fifth_bits(fifth, true));
        }
        store(first, Minimum ? 0 : Format::middle, out->q);
        store(second, Minimum ? 0 : Format::middle, out->q + 16);
        out->scale[0] = out->scale[1] = detail::half_at(block);
        out->offset = Minimum ? detail::half_at(block + 2) : 0;
    }
};

template <int Bits> struct Unpack<FewBitsK<Bits>> {
    using Format = FewBitsK<Bits>;
    static constexpr bool has_offset = true;
    HWY_ATTR static void block(const std::byte *block, Group *out) {
        typename Format::Numbers scales{}, minima{};
        Format::unpack(block + 4, scales, minima);
        const float scale = detail::half_at(block), minimum = -detail::half_at(block + 2);
        for (int g = 0; g < groups_of<Format>; ++g, ++out) {
            for (int64_t half = 0; half < 2; ++half) {
                Bytes q = nibbles(load(block + Format::low_at + g / 2 * 32 + half * 16), g % 2 != 0);
                if constexpr (Bits == 5)
                    q = hn::Or(q, moved_up(shifted(load(block + Format::fifth_at + half * 16), g, 1)));
                store(q, 0, out->q + half * 16);
            }
            out->scale[0] = out->scale[1] = scale * static_cast<float>(scales[static_cast<size_t>(g)]);
            out->offset = minimum * static_cast<float>(minima[static_cast<size_t>(g)]);
        }
    }
};

template <> struct Unpack<Q6_K> {
    static constexpr bool has_offset = false;
    HWY_ATTR static void block(const std::byte *block, Group *out) {
        const float scale = detail::half_at(block + Q6_K::scale_at);
        for (int64_t g = 0; g < groups_of<Q6_K>; ++g, ++out) {
            const auto [low, high, upper, shift] = Q6_K::place_of(g * 32);
            for (int64_t half = 0; half < 2; ++half) {
                const Bytes upper_bits = moved_up(shifted(load(block + high + half * 16), static_cast<int>(shift), 3));
                store(hn::Or(nibbles(load(block + low + half * 16), upper), upper_bits), 32, out->q + half * 16);
                const auto steps = static_cast<int8_t>(block[Q6_K::scales_at + g * 2 + half]);
                out->scale[half] = scale * static_cast<float>(steps);
            }
            out->offset = 0;
        }
    }
};

// ---- Using the groups ----

constexpr hn::CappedTag<float, 16> floats; // a group is two times 16 values
using Floats = hn::Vec<decltype(floats)>;

// Values i, i + 1, ... of a group, as many as fit in a vector.
HWY_ATTR Floats numbers_of(const Group &group, int64_t i) {
    constexpr hn::Rebind<int8_t, decltype(floats)> small;
    constexpr hn::Rebind<int32_t, decltype(floats)> integers;
    return hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(small, group.q + i)));
}

// Calls f(group, index of its first value) for all groups of a row.
template <class Format, class F> HWY_ATTR void for_groups(const std::byte *row, int64_t values, F &&f) {
    Group groups[groups_of<Format>];
    for (int64_t first = 0; first < values; first += Format::values, row += Format::bytes) {
        Unpack<Format>::block(row, groups);
        for (int64_t g = 0; g < groups_of<Format>; ++g) f(groups[g], first + g * 32);
    }
}

// Multiplies one row of the weight with a few rows of x. Each block is unpacked once for all of them.
template <class Format, size_t Rows>
HWY_ATTR void add_row(const std::byte *row, int64_t values, const SummedRows &x, float *y, int64_t step) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
    constexpr size_t chains = Rows == 1 ? 2 : 1; // additions to a sum are serial, so a single row has two
    Floats sums[chains][Rows];
    float offsets[Rows] = {};
    for (auto &chain : sums) std::fill_n(chain, Rows, hn::Zero(floats));
    for_groups<Format>(row, values, [&](const Group &group, int64_t first) HWY_ATTR {
        for (int64_t i = 0; i < 16; i += lanes)
            for (size_t half = 0; half < 2; ++half) {
                const int64_t at_value = static_cast<int64_t>(half) * 16 + i;
                const Floats w = hn::Mul(numbers_of(group, at_value), hn::Set(floats, group.scale[half]));
                const float *at = x.values + first + at_value;
                for (size_t r = 0; r < Rows; ++r, at += values)
                    sums[half % chains][r] = hn::MulAdd(w, hn::LoadU(floats, at), sums[half % chains][r]);
            }
        if (!Unpack<Format>::has_offset) return;
        const float *x_sums = x.sums + first / 32;
        for (size_t r = 0; r < Rows; ++r, x_sums += values / 32) offsets[r] += group.offset * *x_sums;
    });
    for (size_t r = 0; r < Rows; ++r)
        y[static_cast<int64_t>(r) * step] +=
            offsets[r] +
            hn::GetLane(hn::SumOfLanes(floats, chains == 1 ? sums[0][r] : hn::Add(sums[0][r], sums[chains - 1][r])));
}

template <class Format> HWY_ATTR void add_rows(const BlockRows &weight, SummedRows x, float *y, int64_t step) {
    const int64_t values = weight.values, row_bytes = values / Format::values * Format::bytes;
    const auto add = [&]<size_t Rows>() HWY_ATTR {
        const std::byte *row = weight.blocks;
        for (int64_t n = 0; n < weight.rows; ++n, row += row_bytes) add_row<Format, Rows>(row, values, x, y + n, step);
        constexpr auto taken = static_cast<int64_t>(Rows);
        x = {x.values + taken * values, x.sums + taken * (values / 32), x.rows - taken};
        y += taken * step;
    };
    while (x.rows >= 4) add.template operator()<4>();
    while (x.rows >= 1) add.template operator()<1>();
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

HWY_ATTR void add_products(const BlockRows &weight, const SummedRows &x, float *y, int64_t step) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR { add_rows<Format>(weight, x, y, step); });
}

HWY_ATTR void widen(const BlockRows &weight, float *out) {
    with_format(weight.dtype, [&]<class Format>() HWY_ATTR {
        const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
        // Rows are whole blocks, so all rows together are like one long row.
        for_groups<Format>(weight.blocks, weight.rows * weight.values, [&](const Group &group, int64_t first) HWY_ATTR {
            const Floats offset = hn::Set(floats, group.offset);
            for (int64_t i = 0; i < 32; i += lanes)
                hn::StoreU(hn::MulAdd(numbers_of(group, i), hn::Set(floats, group.scale[i / 16]), offset), floats,
                           out + first + i);
        });
    });
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(add_products);
HWY_EXPORT(widen);

void add_products(const BlockRows &weight, const SummedRows &x, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_products)(weight, x, y, step);
}
void widen(const BlockRows &weight, float *out) { HWY_DYNAMIC_DISPATCH(widen)(weight, out); }

} // namespace lamina::plugin::cpu_fallback
#endif
