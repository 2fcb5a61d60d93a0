// How dtypes whose values have at most six bits are read with SIMD: a struct for each, which unpacks a piece of a row.
// Included once for each instruction set, by way of foreach_target.h.
#if defined(LAMINA_FEW_BITS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_FEW_BITS_INL_HPP
#undef LAMINA_FEW_BITS_INL_HPP
#else
#define LAMINA_FEW_BITS_INL_HPP
#endif

#include "unpack-inl.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<uint8_t, decltype(floats)> bytes;
constexpr hn::Repartition<uint16_t, decltype(floats)> byte_pairs;
using Bytes = hn::Vec<decltype(bytes)>;
constexpr int vector_bytes = static_cast<int>(lanes) * 4, quads = vector_bytes / 16; // of 16 bytes, or four lanes

// ---- Vectors of quads ----

// A vector of the 16 bytes at from(0), of those at from(1), ...
template <class F> HWY_INLINE Bytes joined(F &&from) {
    constexpr hn::Full128<uint8_t> quad;
    constexpr hn::CappedTag<uint8_t, 32> two;
    const auto at = [&](int i) HWY_ATTR { return hn::LoadU(quad, reinterpret_cast<const uint8_t *>(from(i))); };
    if constexpr (quads == 1)
        return at(0);
    else if constexpr (quads == 2)
        return hn::Combine(two, at(1), at(0));
    else
        return hn::Combine(bytes, hn::Combine(two, at(3), at(2)), hn::Combine(two, at(1), at(0)));
}
// In quads 0 and 1 the first, in the others the second. A vector may end before those.
template <class D, class T = hn::TFromD<D>> HWY_INLINE hn::Vec<D> two_values(D d, T first, T second) {
    if constexpr (quads == 4)
        return hn::ConcatUpperLower(d, hn::Set(d, second), hn::Set(d, first));
    else
        return hn::Set(d, first);
}

// Fewer numbers than a vector has lanes as its first ones.
template <class V> HWY_INLINE Floats begun_with(V numbers) {
    if constexpr (std::is_same_v<V, Floats>)
        return numbers;
    else
        return begun_with(hn::ZeroExtendVector(hn::Twice<hn::DFromV<V>>(), numbers));
}
// Lane First + Step * i in all four lanes of quad i.
template <int First, int Step> struct Spread {
    alignas(64) int32_t from[lanes]{};
    constexpr Spread() {
        for (int i = 0; i < lanes; ++i) from[i] = First + i / 4 * Step;
    }
};
template <int First, int Step> constexpr Spread<First, Step> spread;
template <int First, int Step> HWY_INLINE Floats spread_out(Floats numbers) {
    return hn::TableLookupLanes(numbers, hn::SetTableIndices(floats, spread<First, Step>.from));
}

// A quad, whose lanes are the same, in all others.
template <int Quad> HWY_INLINE Floats all_of_quad(Floats v) {
    if constexpr (quads == 1)
        return v;
    else
        return spread_out<Quad * 4, 0>(v);
}
// Bytes from First on, as many as a vector has floats.
template <int First, class V> HWY_INLINE auto bytes_from(V all) {
    constexpr hn::DFromV<V> d;
    constexpr int half = static_cast<int>(hn::MaxLanes(d)) / 2;
    if constexpr (half * 2 == lanes)
        return all;
    else if constexpr (First < half)
        return bytes_from<First>(hn::LowerHalf(all));
    else
        return bytes_from<First - half>(hn::UpperHalf(hn::Half<decltype(d)>(), all));
}

// The pairs of f16 numbers at from(0), from(1), ... for all quads.
template <class F> HWY_INLINE Floats pairs(F &&from) {
    if constexpr (quads == 1) return two_halves(from(0));
    const auto two = [&](int i) HWY_ATTR {
        return hn::Set(hn::Full64<uint64_t>(),
                       loaded<uint32_t>(from(i)) | uint64_t{loaded<uint32_t>(from(i + 1))} << 32U);
    };
    if constexpr (quads == 2) return begun_with(widened(four_floats, hn::BitCast(hn::Full64<uint16_t>(), two(0))));
    if constexpr (quads == 4) {
        const auto four = hn::Combine(hn::Full128<uint64_t>(), two(2), two(0));
        return begun_with(widened(hn::CappedTag<float, 8>(), hn::BitCast(hn::Full128<uint16_t>(), four)));
    }
}

// ---- Bits of bytes ----

// Shifts each byte separately.
HWY_INLINE Bytes shifted(Bytes b, int by, uint8_t mask) {
    const auto moved = hn::BitCast(bytes, hn::ShiftRightSame(hn::BitCast(byte_pairs, b), by));
    return hn::And(moved, hn::Set(bytes, mask));
}
HWY_INLINE Bytes nibbles(Bytes b, bool upper) {
    return upper ? shifted(b, 4, 0x0f) : hn::And(b, hn::Set(bytes, uint8_t{0x0f}));
}
// The lowest bits of bytes as others.
HWY_INLINE Bytes moved_up(Bytes b) { return hn::BitCast(bytes, hn::ShiftLeft<4>(hn::BitCast(byte_pairs, b))); }

// ---- Formats ----
//
// Pieces<Format> is some blocks of a row, which are unpacked in slices: as many values as two vectors have bytes.
//   blocks, values, slices   of a piece
//   shared                   whether both vectors of a slice have the same scales and minima
//   run(slice, half, quad)   which 16 values of the piece are in a quad of one of the vectors: the first of them
//   slice<I>()               a slice
// It is made of an address and how many of its blocks are there. The last one stands for those that are not.

struct Slice {
    Bytes integers[2];
    Floats scale[2], minimum[2]; // of each lane of four bytes; a value is scale * integer + minimum
};

template <class Format> struct Pieces;
template <class Format> constexpr bool has_few_bits = Format::values > 1 && !std::is_same_v<Format, Q8_0>;

template <int Bits, bool Minimum> struct Pieces<FewBits<Bits, Minimum>> {
    using Format = FewBits<Bits, Minimum>;
    static constexpr int blocks = quads, values = blocks * 32, slices = 1;
    static constexpr bool shared = true;
    static constexpr int run(int /*slice*/, int half, int quad) { return quad * 32 + half * 16; }
    const std::byte *first;
    int64_t last;

    HWY_INLINE Pieces(const std::byte *at, int64_t count) : first(at), last(count - 1) {}
    template <int I> HWY_INLINE Slice slice() const {
        const Bytes low = joined([&](int i) { return block(i) + Format::low_at; });
        const Floats numbers = pairs([&](int i) { return block(i); });
        Slice out;
        out.scale[0] = out.scale[1] = spread_out<0, 2>(numbers);
        out.minimum[0] = out.minimum[1] =
            Minimum ? spread_out<1, 2>(numbers) : hn::Mul(out.scale[0], hn::Set(floats, -Format::middle));
        for (int half = 0; half < 2; ++half) {
            out.integers[half] = nibbles(low, half != 0);
            if constexpr (Bits == 5) out.integers[half] = hn::Or(out.integers[half], fifth_bits(half));
        }
        return out;
    }

  private:
    HWY_INLINE const std::byte *block(int i) const { return first + std::min<int64_t>(i, last) * Format::bytes; }
    // The lower or the upper 16 bits of each block, each as bit 4 of a byte.
    HWY_INLINE Bytes fifth_bits(int half) const {
        alignas(16) static constexpr uint8_t byte[2][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                                                            {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};
        alignas(16) static constexpr uint8_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        // The four bytes are followed by the 16 with the lower bits.
        const Bytes bits = joined([&](int i) { return block(i) + Format::fifth_at; });
        const Bytes mask = hn::LoadDup128(bytes, bit);
        const Bytes wanted = hn::And(hn::TableLookupBytes(bits, hn::LoadDup128(bytes, byte[half])), mask);
        return hn::IfThenElseZero(hn::Eq(wanted, mask), hn::Set(bytes, uint8_t{16}));
    }
};

template <int Bits> struct Pieces<FewBitsK<Bits>> {
    using Format = FewBitsK<Bits>;
    static constexpr int blocks = 1, values = Format::values, slices = values / 2 / vector_bytes;
    static constexpr bool shared = false;
    static constexpr int group_of(int slice, int half) { return slice * vector_bytes / 32 * 2 + half; }
    static constexpr int run(int slice, int half, int quad) {
        const int byte = slice * vector_bytes + quad * 16;
        return byte / 32 * 64 + half * 32 + byte % 32;
    }
    const std::byte *block;
    alignas(16) float factors[8], minima[8];

    HWY_INLINE Pieces(const std::byte *at, int64_t /*count*/) : block(at) {
        // The same bits as Format::unpack(), four numbers at a time.
        const auto low = loaded<uint32_t>(at + 4), middle = loaded<uint32_t>(at + 8), high = loaded<uint32_t>(at + 12);
        constexpr uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x03030303;
        const FourFloats both = two_halves(at);
        const auto scale = hn::Set(four_floats, hn::GetLane(both));
        const auto minimum = hn::Neg(hn::Set(four_floats, hn::GetLane(hn::Reverse2(four_floats, both))));
        put(low & six, scale, factors);
        put((high & four) | (low >> 6U & two) << 4U, scale, factors + 4);
        put(middle & six, minimum, minima);
        put((high >> 4U & four) | (middle >> 6U & two) << 4U, minimum, minima + 4);
    }
    template <int I> HWY_INLINE Slice slice() const {
        const Bytes low =
            hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(block + Format::low_at + I * vector_bytes));
        Slice out;
        for (int half = 0; half < 2; ++half) {
            const int g = group_of(I, half), next = std::min(g + 2, 7);
            out.integers[half] = nibbles(low, half != 0);
            if constexpr (Bits == 5) {
                const auto bit = [&](int of) { return static_cast<uint8_t>(1U << static_cast<unsigned>(of)); };
                const Bytes mask = two_values(bytes, bit(g), bit(next));
                const Bytes fifth =
                    joined([&](int i) { return block + Format::fifth_at + (I * vector_bytes + i * 16) % 32; });
                const auto there = hn::Eq(hn::And(fifth, mask), mask);
                out.integers[half] = hn::Or(out.integers[half], hn::IfThenElseZero(there, hn::Set(bytes, uint8_t{16})));
            }
            out.scale[half] = two_values(floats, factors[g], factors[next]);
            out.minimum[half] = two_values(floats, minima[g], minima[next]);
        }
        return out;
    }

  private:
    static HWY_INLINE void put(uint32_t steps, FourFloats factor, float *to) {
        constexpr hn::FixedTag<uint32_t, 1> one;
        constexpr hn::FixedTag<uint8_t, 4> bytes4;
        constexpr hn::FixedTag<int32_t, 4> integers4;
        const auto numbers = hn::PromoteTo(integers4, hn::BitCast(bytes4, hn::Set(one, steps)));
        hn::Store(hn::Mul(hn::ConvertTo(four_floats, numbers), factor), four_floats, to);
    }
};

template <> struct Pieces<Q6_K> {
    using Format = Q6_K;
    static constexpr int blocks = 1, values = Format::values, slices = values / 2 / vector_bytes;
    static constexpr bool shared = false;
    static constexpr int run(int slice, int half, int quad) {
        const int byte = slice * vector_bytes + quad * 16;
        return byte / 64 * 128 + half * 64 + byte % 64;
    }
    using Steps = std::conditional_t<quads == 1, uint8_t, uint32_t>; // one for each quad, or more
    const std::byte *block;
    float factor;

    HWY_INLINE Pieces(const std::byte *at, int64_t /*count*/)
        : block(at), factor(detail::half_at(at + Format::scale_at)) {}
    template <int I> HWY_INLINE Slice slice() const {
        constexpr int byte = I * vector_bytes;
        const Bytes low = hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(block + byte));
        const Bytes high =
            joined([&](int i) { return block + Format::high_at + byte / 64 * 32 + (byte + i * 16) % 32; });
        Slice out;
        for (int half = 0; half < 2; ++half) {
            // Two bits for each value, which belong above the lower four: the first or the last two of a byte's half
            // in the bytes 0 to 31 of 64, the others in the bytes 32 to 63.
            const Bytes four = nibbles(high, half != 0);
            const auto first = hn::And(four, hn::Set(bytes, uint8_t{3})), second = shifted(four, 2, 3);
            Bytes two = byte % 64 < 32 ? first : second;
            if constexpr (quads == 4) two = hn::ConcatUpperLower(bytes, second, first);
            out.integers[half] = hn::Or(nibbles(low, half != 0), moved_up(two));

            constexpr hn::FixedTag<int32_t, 4> integers4;
            constexpr hn::FixedTag<int8_t, 4> bytes4;
            const uint32_t steps = loaded<Steps>(block + Format::scales_at + run(I, half, 0) / 16);
            const auto numbers =
                hn::PromoteTo(integers4, hn::BitCast(bytes4, hn::Set(hn::FixedTag<uint32_t, 1>(), steps)));
            const auto scales = hn::Mul(hn::ConvertTo(four_floats, numbers), hn::Set(four_floats, factor));
            out.scale[half] = spread_out<0, 1>(begun_with(scales));
            out.minimum[half] = hn::Mul(out.scale[half], hn::Set(floats, -32));
        }
        return out;
    }
};

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
