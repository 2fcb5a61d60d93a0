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

// Fewer numbers than a vector has lanes as its first ones; zeros follow.
template <class V> HWY_INLINE Floats begun_with(V numbers) {
    if constexpr (std::is_same_v<V, Floats>)
        return numbers;
    else
        return begun_with(hn::ZeroExtendVector(hn::Twice<hn::DFromV<V>>(), numbers));
}
// Bytes from First on, as many as a vector has floats.
template <int First, class V> HWY_INLINE auto bytes_from(V all) {
    constexpr hn::DFromV<V> d;
    constexpr int half = static_cast<int>(hn::MaxLanes(d)) / 2;
    if constexpr (half == lanes / 2)
        return all;
    else if constexpr (First < half)
        return bytes_from<First>(hn::LowerHalf(all));
    else
        return bytes_from<First - half>(hn::UpperHalf(hn::Half<decltype(d)>(), all));
}

// The pairs of f16 numbers at from(0), from(1), ... for all quads; of the second, only the bits of the mask.
template <class F> HWY_INLINE Floats pairs(uint16_t mask, F &&from) {
    const uint32_t both = uint32_t{mask} << 16U | 0xffffU;
    const auto one = [&](int i) HWY_ATTR { return loaded<uint32_t>(from(i)) & both; };
    const auto two = [&](int i)
                         HWY_ATTR { return hn::Set(hn::Full64<uint64_t>(), one(i) | uint64_t{one(i + 1)} << 32U); };
    if constexpr (quads == 1)
        return begun_with(
            widened(four_floats, hn::BitCast(hn::Full64<uint16_t>(), hn::Set(hn::Full64<uint64_t>(), one(0)))));
    if constexpr (quads == 2) return begun_with(widened(four_floats, hn::BitCast(hn::Full64<uint16_t>(), two(0))));
    if constexpr (quads == 4) {
        const auto four = hn::Combine(hn::Full128<uint64_t>(), two(2), two(0));
        return begun_with(widened(hn::CappedTag<float, 8>(), hn::BitCast(hn::Full128<uint16_t>(), four)));
    }
}

// Bytes as floats.
template <class V> HWY_INLINE Floats as_floats(V few_bytes) {
    return hn::ConvertTo(floats, hn::PromoteTo(hn::Rebind<int32_t, decltype(floats)>(), few_bytes));
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
// Pieces<Format> is some blocks of a row, whose values are scale * integer + minimum. The integers are unpacked in
// slices: as many as two vectors have bytes.
//   blocks, values, slices   of a piece
//   shared                   whether both vectors of a slice have the same scales
//   run(slice, half, quad)   which 16 values of the piece are in a quad of one of the vectors: the first of them
//   integers<I>()            a slice
//   of_scale                 how many values have the same scale and minimum
//   vectors                  of numbers, among which are the scales and minima of a piece
//   numbers<I>()             one of these vectors
//   scale_at(n)              the place of the n-th scale among the numbers
//   minimum_at(n), minimum   the n-th minimum is this factor times the number at this place
// It is made of an address and how many of its blocks are there. The last one stands for those that are not.

struct Slice {
    Bytes half[2];
};

template <class Format> struct Pieces;
template <class Format> constexpr bool has_few_bits = Format::values > 1 && !std::is_same_v<Format, Q8_0>;

template <int Bits, bool Minimum> struct Pieces<FewBits<Bits, Minimum>> {
    using Format = FewBits<Bits, Minimum>;
    static constexpr int blocks = quads, values = blocks * 32, slices = 1;
    static constexpr bool shared = true;
    static constexpr int run(int /*slice*/, int half, int quad) { return quad * 32 + half * 16; }
    static constexpr int of_scale = 32, vectors = 1, minimum = Minimum ? 1 : -Format::middle;
    static constexpr int scale_at(int n) { return 2 * n; }
    static constexpr int minimum_at(int n) { return Minimum ? 2 * n + 1 : 2 * n; }
    const std::byte *first;
    int64_t last;

    HWY_INLINE Pieces(const std::byte *at, int64_t count) : first(at), last(count - 1) {}
    template <int I> HWY_INLINE Floats numbers() const {
        return pairs(Minimum ? 0xffff : 0, [&](int i) { return block(i); });
    }
    template <int I> HWY_INLINE Slice integers() const {
        const Bytes low = joined([&](int i) { return block(i) + Format::low_at; });
        Slice out;
        for (int half = 0; half < 2; ++half) {
            out.half[half] = nibbles(low, half != 0);
            if constexpr (Bits == 5) out.half[half] = hn::Or(out.half[half], fifth_bits(half));
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
    static constexpr int run(int slice, int half, int quad) {
        const int byte = slice * vector_bytes + quad * 16;
        return byte / 32 * 64 + half * 32 + byte % 32;
    }
    static constexpr int of_scale = 32, vectors = 16 / static_cast<int>(lanes), minimum = -1;
    static constexpr int scale_at(int n) { return n; }
    static constexpr int minimum_at(int n) { return 8 + n; }
    const std::byte *block;
    uint64_t steps[2]; // of eight scales and of eight minima, a byte each

    HWY_INLINE Pieces(const std::byte *at, int64_t /*count*/) : block(at) {
        // The same bits as Format::unpack(), four numbers at a time.
        const auto low = loaded<uint32_t>(at + 4), middle = loaded<uint32_t>(at + 8), high = loaded<uint32_t>(at + 12);
        constexpr uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x03030303;
        const auto eight = [](uint32_t first, uint32_t last) { return first | uint64_t{last} << 32U; };
        steps[0] = eight(low & six, (high & four) | (low >> 6U & two) << 4U);
        steps[1] = eight(middle & six, (high >> 4U & four) | (middle >> 6U & two) << 4U);
    }
    template <int I> HWY_INLINE Floats numbers() const {
        const auto of = [&](int i) HWY_ATTR { return hn::Set(hn::Full64<uint64_t>(), steps[i]); };
        const auto all = hn::BitCast(hn::Full128<uint8_t>(), hn::Combine(hn::Full128<uint64_t>(), of(1), of(0)));
        const FourFloats both = two_halves(block);
        const float scale = hn::GetLane(both), minimum_step = hn::GetLane(hn::Reverse2(four_floats, both));
        constexpr int first = I * static_cast<int>(lanes);
        return hn::Mul(as_floats(bytes_from<first>(all)),
                       two_values(floats, first < 8 ? scale : minimum_step, minimum_step));
    }
    template <int I> HWY_INLINE Slice integers() const {
        const Bytes low =
            hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(block + Format::low_at + I * vector_bytes));
        Slice out;
        for (int half = 0; half < 2; ++half) {
            out.half[half] = nibbles(low, half != 0);
            if constexpr (Bits == 5) {
                const auto bit = [&](int quad) {
                    return static_cast<uint8_t>(1U << static_cast<unsigned>(run(I, half, quad) / 32));
                };
                const Bytes mask = two_values(bytes, bit(0), bit(quads - 1));
                const Bytes fifth =
                    joined([&](int i) { return block + Format::fifth_at + (I * vector_bytes + i * 16) % 32; });
                const auto there = hn::Eq(hn::And(fifth, mask), mask);
                out.half[half] = hn::Or(out.half[half], hn::IfThenElseZero(there, hn::Set(bytes, uint8_t{16})));
            }
        }
        return out;
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
    static constexpr int of_scale = 16, vectors = 16 / static_cast<int>(lanes), minimum = -32;
    static constexpr int scale_at(int n) { return n; }
    static constexpr int minimum_at(int n) { return n; }
    const std::byte *block;

    HWY_INLINE Pieces(const std::byte *at, int64_t /*count*/) : block(at) {}
    template <int I> HWY_INLINE Floats numbers() const {
        constexpr hn::Rebind<int8_t, decltype(floats)> few_bytes;
        const auto *const steps = reinterpret_cast<const int8_t *>(block + Format::scales_at + I * lanes);
        return hn::Mul(as_floats(hn::LoadU(few_bytes, steps)),
                       hn::Set(floats, detail::half_at(block + Format::scale_at)));
    }
    template <int I> HWY_INLINE Slice integers() const {
        constexpr int byte = I * vector_bytes, high_first = byte / 64 * 32;
        const Bytes low = hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(block + byte));
        const Bytes high = joined([&](int i) { return block + Format::high_at + high_first + (byte + i * 16) % 32; });
        Slice out;
        for (int half = 0; half < 2; ++half) {
            // Two bits for each value, which belong above the lower four: the first or the last two of a byte's half
            // in the bytes 0 to 31 of 64, the others in the bytes 32 to 63.
            const Bytes four = nibbles(high, half != 0);
            const auto first = hn::And(four, hn::Set(bytes, uint8_t{3})), second = shifted(four, 2, 3);
            Bytes two = byte % 64 < 32 ? first : second;
            if constexpr (quads == 4) two = hn::ConcatUpperLower(bytes, second, first);
            out.half[half] = hn::Or(nibbles(low, half != 0), moved_up(two));
        }
        return out;
    }
};

// ---- Scales of slices ----

// Lanes of a vector of numbers.
struct Places {
    alignas(64) int32_t lane[lanes]{};
};
// The lanes of the scales that a vector of a slice has.
template <class Piece, int I, int Half> constexpr Places places_of_scales() {
    Places out;
    for (int i = 0; i < lanes; ++i)
        out.lane[i] = Piece::scale_at(Piece::run(I, Half, i / 4) / Piece::of_scale) % static_cast<int>(lanes);
    return out;
}
template <class Piece, int I, int Half> constexpr Places places = places_of_scales<Piece, I, Half>();

// The scales of a vector of a slice, each in four lanes.
template <class Piece, int I, int Half> HWY_INLINE Floats spread_out(const Floats (&numbers)[Piece::vectors]) {
    constexpr int vector = Piece::scale_at(Piece::run(I, Half, 0) / Piece::of_scale) / static_cast<int>(lanes);
    return hn::TableLookupLanes(numbers[vector], hn::SetTableIndices(floats, places<Piece, I, Half>.lane));
}

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
