// Products of weights of few bits with floats, as products of integers: those of bytes are several times as fast as
// those of floats, to which each weight had to be converted. Included once for each instruction set, by way of
// foreach_target.h.
//
// The values of a group of x become integers of 24 bits that share a factor, so that they are as accurate as floats of
// the size of the greatest. An integer is 65536 * digits[0] + 256 * digits[1] + digits[2], with digits from -128 to
// 127. Four of them, or eight, times weights below 64, or 32, add up to less than 2^31. So these sums are exact.
#if defined(LAMINA_INTEGERS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAMINA_INTEGERS_INL_HPP
#undef LAMINA_INTEGERS_INL_HPP
#else
#define LAMINA_INTEGERS_INL_HPP
#endif

#include "few_bits-inl.hpp"
#include "matrix.hpp"

#include <algorithm>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<int16_t, decltype(floats)> shorts;
constexpr hn::Repartition<int32_t, decltype(floats)> words;
using Shorts = hn::Vec<decltype(shorts)>;
using Integers = hn::Vec<decltype(words)>;

// The sums of two products of bytes, the former without sign and below 64, the latter with it.
HWY_INLINE Shorts sums_of_two(Bytes a, Bytes b) {
#if HWY_TARGET == HWY_AVX3
    return Shorts{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Shorts{_mm256_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4
    return Shorts{_mm_maddubs_epi16(a.raw, b.raw)};
#else
    const auto of_a = hn::BitCast(shorts, a), of_b = hn::BitCast(shorts, b);
    const auto even = hn::Mul(hn::And(of_a, hn::Set(shorts, 0xff)), hn::ShiftRight<8>(hn::ShiftLeft<8>(of_b)));
    return hn::Add(even, hn::Mul(hn::ShiftRight<8>(of_a), hn::ShiftRight<8>(of_b)));
#endif
}
// The sums of two neighbours, times a factor.
HWY_INLINE Integers sums_of_two(Shorts v, int16_t factor) {
    Integers rest = hn::Zero(words);
    const Integers sums = hn::ReorderWidenMulAccumulate(words, v, hn::Set(shorts, factor), hn::Zero(words), rest);
    return hn::Add(sums, rest);
}

// A slice of a row of x, for the slices of a piece of weights.
template <class Piece> struct IntegerSlice {
    static constexpr int sets = Piece::shared ? 1 : 2; // of sums: of both vectors of a slice, or of each
    // Digits of both vectors. Then for each set, in the lanes of its sums: factors, and sums of x.
    static constexpr int64_t factors_at = 2 * 3 * lanes, sums_at = factors_at + sets * lanes,
                             floats_taken = sums_at + sets * lanes;

    static HWY_INLINE Integers product(const Bytes (&weights)[2], const float *x, int set) {
        const auto of_digit = [&](int digit) HWY_ATTR {
            const auto of_half = [&](int half) HWY_ATTR {
                const auto *from = reinterpret_cast<const uint8_t *>(x + (digit * 2 + half) * lanes);
                return sums_of_two(weights[half], hn::Load(bytes, from));
            };
            if constexpr (Piece::shared)
                return hn::Add(of_half(0), of_half(1));
            else
                return of_half(set);
        };
        const Integers upper = hn::Add(sums_of_two(of_digit(0), 256), sums_of_two(of_digit(1), 1));
        return hn::Add(hn::ShiftLeft<8>(upper), sums_of_two(of_digit(2), 1));
    }

    // sums + the products of a slice of weights with a slice of x, in some lanes.
    static HWY_INLINE Floats add_product(const Slice &weights, const float *x, Floats sums) {
        for (int set = 0; set < sets; ++set) {
            const Floats factor = hn::Mul(weights.scale[set], hn::Load(floats, x + factors_at + set * lanes));
            sums = hn::MulAdd(hn::ConvertTo(floats, product(weights.integers, x, set)), factor, sums);
            sums = hn::MulAdd(weights.minimum[set], hn::Load(floats, x + sums_at + set * lanes), sums);
        }
        return sums;
    }
};

template <class Piece> constexpr int64_t integers_of_piece = Piece::slices *IntegerSlice<Piece>::floats_taken;

// ---- From floats to integers ----

constexpr float greatest_integer = 127 * 65536 + 127 * 256; // and a little less than the digits allow
constexpr float least_magnitude = 1e-30F;                   // of a group; it divides the former

// The greatest magnitude of each group. False if a value is not finite.
HWY_INLINE bool magnitudes(const float *x, int64_t values, float *out) {
    auto finite = hn::Eq(hn::Zero(floats), hn::Zero(floats));
    for (int64_t first = 0; first < values; first += group) {
        Floats greatest = hn::Set(floats, least_magnitude);
        for (int64_t i = first; i < first + group; i += lanes) {
            const Floats v = hn::Abs(hn::LoadU(floats, x + i));
            finite = hn::And(finite, hn::Le(v, hn::Set(floats, std::numeric_limits<float>::max())));
            greatest = hn::Max(greatest, v);
        }
        *out++ = hn::GetLane(hn::MaxOfLanes(floats, greatest));
    }
    return hn::AllTrue(floats, finite);
}

// The digits of 16 values as integers, each as 16 bytes, which are `apart`.
HWY_INLINE void put_digits(const float *x, float inverse, uint8_t *to, int64_t apart) {
    constexpr hn::Rebind<uint8_t, decltype(floats)> few_bytes;
    const auto each = hn::Set(words, 0x808080); // 128 is added to each digit, then taken from its byte
    for (int64_t i = 0; i < 16; i += lanes) {
        const Integers v = hn::NearestInt(hn::Mul(hn::LoadU(floats, x + i), hn::Set(floats, inverse)));
        const Integers digits = hn::Xor(hn::Add(v, each), each);
        const auto put = [&](Integers digit, int64_t d) HWY_ATTR {
            hn::StoreU(hn::DemoteTo(few_bytes, hn::And(digit, hn::Set(words, 0xff))), few_bytes, to + d * apart + i);
        };
        put(hn::ShiftRight<16>(digits), 0);
        put(hn::ShiftRight<8>(digits), 1);
        put(digits, 2);
    }
}

// A slice of the piece whose first value is x[first], in a row of `values` values.
template <class Piece>
HWY_INLINE void put_slice(const float *x, int64_t values, const float *magnitudes_of_groups, int64_t first, int slice,
                          float *out) {
    using To = IntegerSlice<Piece>;
    auto *const digits = reinterpret_cast<uint8_t *>(out);
    if (first + Piece::values > values) std::fill_n(out, To::floats_taken, 0.0F); // there is nothing behind the row
    for (int half = 0; half < 2; ++half)
        for (int quad = 0; quad < quads; ++quad) {
            const int64_t run = first + Piece::run(slice, half, quad);
            if (run >= values) continue;
            const float greatest = magnitudes_of_groups[run / group];
            put_digits(x + run, greatest_integer / greatest, digits + half * vector_bytes + quad * 16,
                       2 * vector_bytes);
            // Both vectors of a slice that has one set of sums belong to the same groups.
            hn::Store(hn::Set(four_floats, greatest * (1 / greatest_integer)), four_floats,
                      out + To::factors_at + half % To::sets * lanes + quad * 4);
        }
    const auto one = hn::Set(bytes, uint8_t{1});
    for (int set = 0; set < To::sets; ++set) {
        const auto sums = hn::ConvertTo(floats, To::product({one, one}, out, set));
        hn::Store(hn::Mul(sums, hn::Load(floats, out + To::factors_at + set * lanes)), floats,
                  out + To::sums_at + set * lanes);
    }
}

template <class Piece> HWY_INLINE bool rows_to_integers(const float *x, int64_t rows, int64_t values, float *out) {
    const Matrix of_groups(1, values / group);
    for (int64_t r = 0; r < rows; ++r, x += values) {
        if (!magnitudes(x, values, of_groups.data())) return false;
        for (int64_t first = 0; first < values; first += Piece::values)
            for (int slice = 0; slice < Piece::slices; ++slice, out += IntegerSlice<Piece>::floats_taken)
                put_slice<Piece>(x, values, of_groups.data(), first, slice, out);
    }
    return true;
}

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
