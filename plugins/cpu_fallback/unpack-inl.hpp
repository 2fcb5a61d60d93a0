// How dtypes of weights are read with SIMD, value by value: a struct for each. strip_formats-inl.hpp reads the others.
// Included once for each instruction set, by way of foreach_target.h.
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

template <class T> T loaded(const std::byte *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Widens as widen_f16() does, for lanes of 16 bits that lie in the lower halves of 32.
template <class D> HWY_INLINE hn::Vec<D> widened_halves(D d, hn::Vec<hn::Rebind<uint32_t, D>> bits) {
    constexpr hn::Rebind<uint32_t, D> unsigned_words;
    const auto magnitude = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(hn::And(bits, hn::Set(unsigned_words, 0x7fffu)))),
                                   hn::Set(d, 0x1p112F));
    const auto exponent = hn::IfThenElseZero(hn::Ge(magnitude, hn::Set(d, 0x1p16F)),
                                             hn::BitCast(d, hn::Set(unsigned_words, 0x7f800000u)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(unsigned_words, 0x8000u)));
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
    constexpr hn::FixedTag<uint32_t, 2> pair;
    constexpr hn::FixedTag<uint16_t, 4> halves;
    return widened(four_floats, hn::BitCast(halves, hn::Set(pair, loaded<uint32_t>(at))));
}
// ---- Formats ----
//
// Unpacked<Format> is a group of 32 values:
//   bytes     of the group
//   scaled    whether a value is scale * number
//   at<I>()   a vector of the numbers, from the I-th on
//   scale

template <class Format> struct Unpacked;

template <> struct Unpacked<Q8_0> {
    static constexpr int bytes = Q8_0::bytes;
    static constexpr bool scaled = true;
    const std::byte *block;
    Floats scale;

    HWY_INLINE explicit Unpacked(const std::byte *at)
        : block(at), scale(hn::Set(floats, hn::GetLane(two_halves(at)))) {}
    template <int I> HWY_INLINE Floats at() const {
        constexpr hn::Rebind<int32_t, decltype(floats)> integers;
        constexpr hn::Rebind<int8_t, decltype(floats)> signed_bytes;
        const auto *from = reinterpret_cast<const int8_t *>(block + 2 + I);
        return hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(signed_bytes, from)));
    }
};

// Single values.
template <class Format>
requires(Format::values == 1) struct Unpacked<Format> {
    static constexpr int bytes = static_cast<int>(group * Format::bytes);
    static constexpr bool scaled = false;
    const std::byte *first;

    HWY_INLINE explicit Unpacked(const std::byte *at) : first(at) {}
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

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
