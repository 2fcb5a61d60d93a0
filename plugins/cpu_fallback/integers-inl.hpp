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

// A piece of a row of x, for a piece of weights: digits for both vectors of each slice, then a factor for each of the
// weight's numbers that is a scale, and a sum of x for each that is, or gives, a minimum.
template <class Piece> struct IntegerPiece {
    static constexpr int64_t of_slice = 6 * lanes, of_numbers = Piece::vectors * lanes,
                             factors_at = Piece::slices * of_slice, sums_at = factors_at + of_numbers,
                             floats_taken = sums_at + of_numbers;

    // The products of a slice of weights with the digits at x: of both vectors of the slice, or of one.
    static HWY_INLINE Integers product(const Slice &weights, const float *x, int set) {
        const auto of_digit = [&](int digit) HWY_ATTR {
            const auto of_half = [&](int half) HWY_ATTR {
                const auto *from = reinterpret_cast<const uint8_t *>(x + (digit * 2 + half) * lanes);
                return sums_of_two(weights.half[half], hn::Load(bytes, from));
            };
            if constexpr (Piece::shared)
                return hn::Add(of_half(0), of_half(1));
            else
                return of_half(set);
        };
        const Integers upper = hn::Add(sums_of_two(of_digit(0), 256), sums_of_two(of_digit(1), 1));
        return hn::Add(hn::ShiftLeft<8>(upper), sums_of_two(of_digit(2), 1));
    }
};

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

// The digits of 16 values as integers, each as 16 bytes, which are `apart`. Returns the sum of the integers.
HWY_INLINE int32_t put_digits(const float *x, float inverse, uint8_t *to, int64_t apart) {
    constexpr hn::Rebind<uint8_t, decltype(floats)> few_bytes;
    const auto each = hn::Set(words, 0x808080); // 128 is added to each digit, then taken from its byte
    Integers sum = hn::Zero(words);
    for (int64_t i = 0; i < 16; i += lanes) {
        const Integers v = hn::NearestInt(hn::Mul(hn::LoadU(floats, x + i), hn::Set(floats, inverse)));
        sum = hn::Add(sum, v);
        const Integers digits = hn::Xor(hn::Add(v, each), each);
        const auto put = [&](Integers digit, int64_t d) HWY_ATTR {
            hn::StoreU(hn::DemoteTo(few_bytes, hn::And(digit, hn::Set(words, 0xff))), few_bytes, to + d * apart + i);
        };
        put(hn::ShiftRight<16>(digits), 0);
        put(hn::ShiftRight<8>(digits), 1);
        put(digits, 2);
    }
    return hn::GetLane(hn::SumOfLanes(words, sum));
}

// The piece whose first value is x[0], in a row of which `left` values are left.
template <class Piece>
HWY_INLINE void put_piece(const float *x, int64_t left, const float *magnitudes_of_groups, float *out) {
    using To = IntegerPiece<Piece>;
    std::fill_n(out + (left < Piece::values ? 0 : To::factors_at),
                left < Piece::values ? To::floats_taken : To::floats_taken - To::factors_at, 0.0F);
    for (int slice = 0; slice < Piece::slices; ++slice)
        for (int half = 0; half < 2; ++half)
            for (int quad = 0; quad < quads; ++quad) {
                const int run = Piece::run(slice, half, quad), n = run / Piece::of_scale;
                if (run >= left) continue;
                const float greatest = magnitudes_of_groups[run / group], factor = greatest * (1 / greatest_integer);
                auto *const digits = reinterpret_cast<uint8_t *>(out + slice * To::of_slice);
                constexpr int64_t apart = int64_t{2} * vector_bytes;
                const int64_t place = int64_t{half} * vector_bytes + int64_t{quad} * 16;
                const int32_t sum = put_digits(x + run, greatest_integer / greatest, digits + place, apart);
                out[To::factors_at + Piece::scale_at(n)] = factor;
                out[To::sums_at + Piece::minimum_at(n)] += Piece::minimum * factor * static_cast<float>(sum);
            }
}

template <class Piece> HWY_INLINE bool rows_to_integers(const float *x, int64_t rows, int64_t values, float *out) {
    const Matrix of_groups(1, values / group);
    for (int64_t r = 0; r < rows; ++r, x += values) {
        if (!magnitudes(x, values, of_groups.data())) return false;
        for (int64_t first = 0; first < values; first += Piece::values, out += IntegerPiece<Piece>::floats_taken)
            put_piece<Piece>(x + first, values - first, of_groups.data() + first / group, out);
    }
    return true;
}

} // namespace
} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
