// How the dtypes of weights are read with SIMD: a struct for each, which unpacks a block. Included once for each
// instruction set, by way of foreach_target.h.
#if defined(LAMINA_UNPACK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_UNPACK_INL_HPP
#undef LAMINA_UNPACK_INL_HPP
#else
#define LAMINA_UNPACK_INL_HPP
#endif

#include "rows.hpp"
#include "vectors-inl.hpp"

#include <lamina/plugin/dtype.hpp>

#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::FixedTag<float, 4> four_floats;
using FourFloats = hn::Vec<decltype(four_floats)>;

// 16 bytes, repeated so often that they fill a vector.
constexpr hn::Repartition<uint8_t, decltype(floats)> bytes16;
constexpr hn::Repartition<uint16_t, decltype(floats)> byte_pairs;
using Bytes = hn::Vec<decltype(bytes16)>;

template <class T> T loaded(const std::byte *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

HWY_INLINE Bytes load(const std::byte *at) { return hn::LoadDup128(bytes16, reinterpret_cast<const uint8_t *>(at)); }
// Shifts each byte separately.
HWY_INLINE Bytes shifted(Bytes b, int by, uint8_t mask) {
    const auto moved = hn::BitCast(bytes16, hn::ShiftRightSame(hn::BitCast(byte_pairs, b), by));
    return hn::And(moved, hn::Set(bytes16, mask));
}
HWY_INLINE Bytes nibbles(Bytes b, bool upper) {
    return upper ? shifted(b, 4, 0x0f) : hn::And(b, hn::Set(bytes16, uint8_t{0x0f}));
}
// The lowest bits of bytes as others.
HWY_INLINE Bytes moved_up(Bytes b) { return hn::BitCast(bytes16, hn::ShiftLeft<4>(hn::BitCast(byte_pairs, b))); }
// The lower or the upper 16 bits, each as bit 4 of a byte.
HWY_INLINE Bytes fifth_bits(uint32_t bits, bool upper) {
    alignas(16) static constexpr uint8_t byte[2][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                                                        {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};
    alignas(16) static constexpr uint8_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    constexpr hn::Repartition<uint32_t, decltype(floats)> words;
    const Bytes spread =
        hn::TableLookupBytes(hn::BitCast(bytes16, hn::Set(words, bits)), hn::LoadDup128(bytes16, byte[upper ? 1 : 0]));
    const Bytes mask = hn::LoadDup128(bytes16, bit);
    return hn::IfThenElseZero(hn::Eq(hn::And(spread, mask), mask), hn::Set(bytes16, uint8_t{16}));
}
HWY_INLINE Bytes less(Bytes q, uint8_t offset) { return hn::Sub(q, hn::Set(bytes16, offset)); }

// Widens as widen_f16() does, for lanes of 16 bits that lie in the lower halves of 32.
template <class D> HWY_INLINE hn::Vec<D> widened_halves(D d, hn::Vec<hn::Rebind<uint32_t, D>> bits) {
    constexpr hn::Rebind<uint32_t, D> words;
    const auto magnitude =
        hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(hn::And(bits, hn::Set(words, 0x7fffu)))), hn::Set(d, 0x1p112F));
    const auto exponent =
        hn::IfThenElseZero(hn::Ge(magnitude, hn::Set(d, 0x1p16F)), hn::BitCast(d, hn::Set(words, 0x7f800000u)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(words, 0x8000u)));
    return hn::Or(hn::Or(magnitude, exponent), hn::BitCast(d, sign));
}
// As many f16 values as D has lanes, in the lowest bits of `halves`.
template <class D> HWY_INLINE hn::Vec<D> widened(D d, hn::Vec<hn::Rebind<uint16_t, D>> halves) {
#if HWY_TARGET <= HWY_AVX2 // by an instruction
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), halves));
#else
    return widened_halves(d, hn::PromoteTo(hn::Rebind<uint32_t, D>(), halves));
#endif
}
HWY_INLINE Floats widened_bf16(hn::Vec<hn::Rebind<uint16_t, decltype(floats)>> halves) {
    return hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(hn::Rebind<uint32_t, decltype(floats)>(), halves)));
}
// The f16 number that begins a block, and the one after it. Of a block that begins with one, the second means nothing.
HWY_INLINE FourFloats two_halves(const std::byte *at) {
    constexpr hn::FixedTag<uint32_t, 2> words;
    constexpr hn::FixedTag<uint16_t, 4> halves;
    return widened(four_floats, hn::BitCast(halves, hn::Set(words, loaded<uint32_t>(at))));
}
HWY_INLINE Floats first_of(FourFloats numbers) { return hn::Set(floats, hn::GetLane(numbers)); }

// For each byte of a vector of 32-bit integers: which of 16 bytes goes there, so that the integers begin with bytes
// First, First + 1, ... at their byte `at`; 128: none.
template <int First, int At> struct Places {
    alignas(64) uint8_t from[lanes * 4]{};
    constexpr Places() {
        for (int i = 0; i < lanes * 4; ++i) from[i] = static_cast<uint8_t>(i % 4 == At ? First + i / 4 : 128);
    }
};
template <int First, int At> constexpr Places<First, At> places;

// 32 small integers; at<I>(): a vector of them as floats, from the I-th on.
template <bool Signed> struct Integers {
    Bytes halves[2];

    template <int I> HWY_INLINE Floats at() const {
        constexpr hn::Rebind<int32_t, decltype(floats)> words;
        const Bytes from = hn::Load(bytes16, places < I % 16, Signed ? 3 : 0 >.from);
        const auto placed = hn::BitCast(words, hn::TableLookupBytesOr0(halves[I / 16], from));
        if constexpr (Signed)
            return hn::ConvertTo(floats, hn::ShiftRight<24>(placed)); // with its sign
        else
            return hn::ConvertTo(floats, placed);
    }
};

// ---- Formats ----
//
// Unpacked<Format> is a block, or for dtypes of single values 32 of them:
//   values, bytes       of the block
//   scales              how many scales a group has: 0, 1 or 2
//   has_minimum         whether a value is scale * integer + minimum; otherwise there is no minimum
//   group(g)            the values of a group, without scales and minima
//   scale(g, half)      the scale of a group, or of half a group if there are two
//   minimum(g)          of a group
//   add_minima(x, sums) sums + the products of all minima with x, one a group, in some of the lanes

template <class Format> struct Unpacked;

template <> struct Unpacked<Q8_0> {
    static constexpr int values = 32, bytes = 34, scales = 1;
    static constexpr bool has_minimum = false;
    const std::byte *block;
    Floats factor;

    HWY_INLINE explicit Unpacked(const std::byte *at) : block(at), factor(first_of(two_halves(at))) {}
    HWY_INLINE Integers<true> group(int /*g*/) const { return {{load(block + 2), load(block + 18)}}; }
    HWY_INLINE Floats scale(int /*g*/, int /*half*/) const { return factor; }
};

template <int Bits, bool Minimum> struct Unpacked<FewBits<Bits, Minimum>> {
    using Format = FewBits<Bits, Minimum>;
    static constexpr int values = Format::values, bytes = Format::bytes, scales = 1;
    static constexpr bool has_minimum = Minimum;
    const std::byte *block;
    FourFloats factors;

    HWY_INLINE explicit Unpacked(const std::byte *at) : block(at), factors(two_halves(at)) {}
    HWY_INLINE Integers<!Minimum> group(int /*g*/) const {
        const Bytes low = load(block + Format::low_at);
        Bytes first = nibbles(low, false), second = nibbles(low, true);
        if constexpr (Bits == 5) {
            const auto fifth = loaded<uint32_t>(block + Format::fifth_at);
            first = hn::Or(first, fifth_bits(fifth, false)), second = hn::Or(second, fifth_bits(fifth, true));
        }
        if constexpr (!Minimum) first = less(first, Format::middle), second = less(second, Format::middle);
        return {{first, second}};
    }
    HWY_INLINE Floats scale(int /*g*/, int /*half*/) const { return first_of(factors); }
    HWY_INLINE Floats minimum(int /*g*/) const { return first_of(hn::Reverse2(four_floats, factors)); }
    HWY_INLINE FourFloats add_minima(const float *x, FourFloats sums) const {
        alignas(16) static constexpr uint32_t second[4] = {0, ~0u, 0, 0};
        const auto mask = hn::BitCast(four_floats, hn::Load(hn::FixedTag<uint32_t, 4>(), second));
        return hn::MulAdd(hn::And(factors, mask), hn::Set(four_floats, *x), sums);
    }
};

template <int Bits> struct Unpacked<FewBitsK<Bits>> {
    using Format = FewBitsK<Bits>;
    static constexpr int values = Format::values, bytes = Format::bytes, scales = 1;
    static constexpr bool has_minimum = true;
    const std::byte *block;
    alignas(16) float factors[8], minima[8];

    HWY_INLINE explicit Unpacked(const std::byte *at) : block(at) {
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
    HWY_INLINE Integers<false> group(int g) const {
        Integers<false> out;
        for (int half = 0; half < 2; ++half) {
            Bytes q = nibbles(load(block + Format::low_at + g / 2 * 32 + half * 16), g % 2 != 0);
            if constexpr (Bits == 5) q = hn::Or(q, moved_up(shifted(load(block + Format::fifth_at + half * 16), g, 1)));
            out.halves[half] = q;
        }
        return out;
    }
    HWY_INLINE Floats scale(int g, int /*half*/) const { return hn::Set(floats, factors[g]); }
    HWY_INLINE Floats minimum(int g) const { return hn::Set(floats, minima[g]); }
    HWY_INLINE FourFloats add_minima(const float *x, FourFloats sums) const {
        for (int g = 0; g < 8; g += 4)
            sums = hn::MulAdd(hn::Load(four_floats, minima + g), hn::LoadU(four_floats, x + g), sums);
        return sums;
    }

  private:
    static HWY_INLINE void put(uint32_t steps, FourFloats factor, float *to) {
        constexpr hn::FixedTag<uint32_t, 1> one;
        constexpr hn::FixedTag<uint8_t, 4> bytes4;
        constexpr hn::FixedTag<int32_t, 4> words;
        const auto numbers = hn::PromoteTo(words, hn::BitCast(bytes4, hn::Set(one, steps)));
        hn::Store(hn::Mul(hn::ConvertTo(four_floats, numbers), factor), four_floats, to);
    }
};

template <> struct Unpacked<Q6_K> {
    static constexpr int values = Q6_K::values, bytes = Q6_K::bytes, scales = 2;
    static constexpr bool has_minimum = false;
    const std::byte *block;
    float factor;

    HWY_INLINE explicit Unpacked(const std::byte *at) : block(at), factor(detail::half_at(at + Q6_K::scale_at)) {}
    HWY_INLINE Integers<true> group(int g) const {
        const auto [low, high, upper, shift] = Q6_K::place_of(int64_t{g} * 32);
        Integers<true> out;
        for (int64_t half = 0; half < 2; ++half) {
            const Bytes upper_bits = moved_up(shifted(load(block + high + half * 16), static_cast<int>(shift), 3));
            out.halves[half] = less(hn::Or(nibbles(load(block + low + half * 16), upper), upper_bits), 32);
        }
        return out;
    }
    HWY_INLINE Floats scale(int g, int half) const {
        const auto steps = static_cast<int8_t>(block[Q6_K::scales_at + int64_t{g} * 2 + half]);
        return hn::Set(floats, factor * static_cast<float>(steps));
    }
};

// 32 single values.
template <class Format>
requires(Format::values == 1) struct Unpacked<Format> {
    static constexpr int values = static_cast<int>(cpu_fallback::group),
                         bytes = values * static_cast<int>(Format::bytes), scales = 0;
    static constexpr bool has_minimum = false;
    struct Group {
        const std::byte *first;
        template <int I> HWY_INLINE Floats at() const {
            const std::byte *from = first + I * Format::bytes;
            constexpr hn::Rebind<uint16_t, decltype(floats)> half_words;
            if constexpr (std::is_same_v<Format, Words>)
                return hn::LoadU(floats, reinterpret_cast<const float *>(from));
            else if constexpr (std::is_same_v<Format, F16>)
                return widened(floats, hn::LoadU(half_words, reinterpret_cast<const uint16_t *>(from)));
            else
                return widened_bf16(hn::LoadU(half_words, reinterpret_cast<const uint16_t *>(from)));
        }
    };
    const std::byte *block;

    HWY_INLINE explicit Unpacked(const std::byte *at) : block(at) {}
    HWY_INLINE Group group(int /*g*/) const { return {block}; }
};

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
