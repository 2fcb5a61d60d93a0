// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "strips.hpp"
#include "matrix.hpp"

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/plan.hpp> // ceil_div()

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strips.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "strip_formats-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<int16_t, decltype(floats)> shorts;
using Shorts = hn::Vec<decltype(shorts)>;

// A tile of products, of a vector of rows with rows of x, or of vectors of rows with a single one: registers have room
// for its sums.
template <int Count> constexpr int tile = lanes == 16 ? (Count == 1 ? 12 : Count == 2 ? 8 : 4) : 2;
constexpr int row_vectors = strip_rows / lanes < 2 ? strip_rows / lanes : 2;

// Calls f.operator()<Rows>(first) for the tiles of some rows of x, in so many digits.
template <int Count, class F> HWY_INLINE void for_tiles(int64_t rows, F &&f) {
    constexpr int most = tile<Count>, some = most > 4 ? 4 : most;
    static_assert(digits_together % most == 0);
    int64_t r = 0;
    for (; r + most <= rows; r += most) f.template operator()<most>(r);
    for (; r + some <= rows; r += some) f.template operator()<some>(r);
    for (; r < rows; ++r) f.template operator()<1>(r);
}

// How far ahead of the multiplications memory is read. On their own, processors do not read ahead beyond a page.
constexpr int64_t ahead = 4096;

// ---- Products ----

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

// Four digits in every lane.
HWY_INLINE Bytes everywhere(const int8_t *digits) {
    int32_t four = 0;
    std::memcpy(&four, digits, sizeof four);
    return hn::BitCast(bytes, hn::Set(words, four));
}

// The sums of a vector of rows for each digit of x, while they fit into 16 bits.
template <int Bits, int Count> struct ShortSums {
    static constexpr int fours = 1 << (7 - Bits); // that it has room for
    static_assert(fours * 2 * 128 * ((1 << Bits) - 1) < 32768);
    Shorts sums[Count];

    HWY_INLINE ShortSums() {
        for (Shorts &sum : sums) sum = hn::Zero(shorts);
    }
    HWY_INLINE void add(Bytes weights, const int8_t *digits) {
        for (int d = 0; d < Count; ++d) sums[d] = hn::Add(sums[d], sums_of_two(weights, everywhere(digits + d * 32)));
    }
    // Those of all digits but the third, and of the third.
    [[nodiscard]] HWY_INLINE Integers upper() const {
        if constexpr (Count == 1)
            return sums_of_two(sums[0], 1);
        else
            return hn::Add(sums_of_two(sums[0], 256), sums_of_two(sums[1], 1));
    }
    [[nodiscard]] HWY_INLINE Integers lower() const { return sums_of_two(sums[2], 1); }
};

#if HWY_TARGET == HWY_AVX3
// The same by an instruction that adds the products of four bytes to a lane. Highway's name for processors that have it
// is AVX3_DL, for which its version 1.0 does not compile it.
template <int /*Bits*/, int Count> struct WordSums {
    static constexpr int fours = 8; // all of a group
    Integers sums[Count];

    HWY_INLINE WordSums() {
        for (Integers &sum : sums) sum = hn::Zero(words);
    }
    HWY_INLINE void add(Bytes weights, const int8_t *digits) {
        for (int d = 0; d < Count; ++d) sums[d] = with_four(sums[d], weights, digits + d * 32);
    }
    [[nodiscard]] HWY_INLINE Integers upper() const {
        if constexpr (Count == 1)
            return sums[0];
        else
            return hn::Add(hn::ShiftLeft<8>(sums[0]), sums[1]);
    }
    [[nodiscard]] HWY_INLINE Integers lower() const { return sums[2]; }

  private:
    HWY_INLINE static Integers with_four(Integers sum, Bytes weights, const int8_t *digits) {
        const auto &four = *reinterpret_cast<const int8_t(*)[4]>(digits);
        auto raw = sum.raw;
        asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(raw) : "v"(weights.raw), "m"(four)); // NOLINT(hicpp-no-assembler)
        return Integers{raw};
    }
};
#endif

// The sums of a group.
template <int Count> struct GroupSums {
    Integers upper, lower;

    HWY_INLINE GroupSums() : upper(hn::Zero(words)), lower(upper) {}
    template <class FewSums> HWY_INLINE void add(const FewSums &sums) {
        upper = hn::Add(upper, sums.upper());
        if constexpr (Count == 3) lower = hn::Add(lower, sums.lower());
    }
    [[nodiscard]] HWY_INLINE Floats all() const {
        if constexpr (Count == 3)
            return hn::MulAdd(hn::ConvertTo(floats, upper), hn::Set(floats, 256), hn::ConvertTo(floats, lower));
        else
            return hn::ConvertTo(floats, upper);
    }
};

// Adds the products of some vectors of rows, from `lane` on, with some rows of x to sums[r * strip_rows + lane].
template <class Format, template <int, int> class FewSums, int Count, int Vectors, int Rows>
HWY_INLINE void multiply_tile(const std::byte *strip, int64_t values, int64_t lane, const Digits<Count> *x,
                              float *sums) {
    using Block = Of<Format>;
    using Few = FewSums<Block::bits, Count>;
    constexpr int groups = Block::values / Block::in_group, fours = Block::in_group / 4;
    constexpr int few = fours < Few::fours ? fours : Few::fours; // fours that are added up at a time
    constexpr int64_t group_bytes = Block::bytes / groups;
    static_assert(fours % few == 0);
    Floats total[Vectors][Rows];
    for (auto &of_vector : total)
        for (Floats &of_row : of_vector) of_row = hn::Zero(floats);
    for (const std::byte *const end = strip + values / Block::values * Block::bytes; strip != end;
         strip += Block::bytes) {
        for (int group = 0; group < groups; ++group) {
            // Not all of the block at once: processors wait for no more than a few lines.
            const std::byte *const next = strip + ahead + group * group_bytes;
            for (int64_t line = 0; line < group_bytes; line += 64) hwy::Prefetch(next + line);
            const int8_t *digits = x->digit[0] + group * Block::in_group % 32;
            GroupSums<Count> of_group[Vectors][Rows];
            for (int first = 0; first < fours / 2; first += few / 2) {
                Few of_few[Vectors][Rows];
                const auto add = [&](auto half, int i) HWY_ATTR {
                    const int8_t *at = digits + half * (Block::in_group / 2) + 4 * i;
                    for (int v = 0; v < Vectors; ++v) {
                        const Bytes weights = Block{Place(strip, lane + v * lanes)}.template four<half>(group, i);
                        for (int r = 0; r < Rows; ++r)
                            of_few[v][r].add(weights, at + r * static_cast<int64_t>(sizeof(Digits<Count>)));
                    }
                };
                HWY_UNROLL(1) // or compilers run out of registers
                for (int i = first; i < first + few / 2; ++i)
                    add(std::integral_constant<int, 0>(), i), add(std::integral_constant<int, 1>(), i);
                for (int v = 0; v < Vectors; ++v)
                    for (int r = 0; r < Rows; ++r) of_group[v][r].add(of_few[v][r]);
            }
            for (int v = 0; v < Vectors; ++v) {
                const Block block{Place(strip, lane + v * lanes)};
                const Floats scale = block.scale(group), minimum = block.minimum(group, scale);
                for (int r = 0; r < Rows; ++r) {
                    const Digits<Count> &of_x = x[r];
                    const float sum = Block::in_group == 32 ? of_x.sum : of_x.sums[group % 2];
                    const Floats product = hn::Mul(of_group[v][r].all(), hn::Set(floats, of_x.factor));
                    total[v][r] = hn::MulAdd(scale, product, total[v][r]);
                    total[v][r] = hn::MulAdd(minimum, hn::Set(floats, sum), total[v][r]);
                }
            }
            if (Block::in_group == 32 || group % 2 != 0) x += Rows;
        }
    }
    for (int v = 0; v < Vectors; ++v)
        for (int r = 0; r < Rows; ++r) hn::StoreU(total[v][r], floats, sums + r * strip_rows + lane + v * lanes);
}

template <class Format, template <int, int> class FewSums, int Count, int Vectors, int Rows>
HWY_ATTR void multiply_rows(const StripProduct &p, int64_t first, float *y, int64_t step) {
    alignas(64) float sums[Rows * strip_rows];
    const auto *const x = reinterpret_cast<const Digits<Count> *>(p.x) + first * (p.values / 32);
    for (int64_t lane = 0; lane < strip_rows; lane += Vectors * lanes)
        multiply_tile<Format, FewSums, Count, Vectors, Rows>(p.strip, p.values, lane, x, sums);
    for (int64_t r = 0; r < Rows; ++r)
        for (int64_t n = 0; n < p.count; ++n) y[(first + r) * step + n] += sums[r * strip_rows + n];
}

template <class Format, template <int, int> class FewSums, int Count>
HWY_ATTR void add_products(const StripProduct &p, float *y, int64_t step) {
    for_tiles<Count>(p.rows, [&]<int Rows>(int64_t first) HWY_ATTR {
        multiply_rows<Format, FewSums, Count, Rows == 1 ? row_vectors : 1, Rows>(p, first, y, step);
    });
}
// Calls f.operator()<Count>() with the number of digits of x.
template <class F> HWY_INLINE void with_digits(int digits, F &&f) {
    if (digits == 1) return f.template operator()<1>();
    if (digits == 2) return f.template operator()<2>();
    f.template operator()<3>();
}

// ---- From floats to integers ----

template <int Count> // a little less than the digits allow
constexpr float greatest_integer = Count == 1   ? 127
                                   : Count == 2 ? 127 * 256
                                                : 127 * 65536 + 127 * 256;
constexpr float least_magnitude = 1e-30F; // of 32 values; it divides the former

// The digits of 16 values as integers, each in 16 bytes, which are 32 apart. Returns the sum of the integers.
template <int Count> HWY_INLINE int32_t put_digits(const float *x, float inverse, int8_t *to) {
    constexpr hn::Rebind<uint8_t, decltype(floats)> few_bytes;
    const auto each = hn::Set(words, 0x808080); // 128 is added to each digit, then taken from its byte
    Integers sum = hn::Zero(words);
    for (int64_t i = 0; i < 16; i += lanes) {
        const Integers v = hn::NearestInt(hn::Mul(hn::LoadU(floats, x + i), hn::Set(floats, inverse)));
        sum = hn::Add(sum, v);
        const Integers digits = hn::Xor(hn::Add(v, each), each);
        for (int d = 0; d < Count; ++d) {
            const Integers digit = hn::ShiftRightSame(digits, 8 * (Count - 1 - d));
            hn::StoreU(hn::DemoteTo(few_bytes, hn::And(digit, hn::Set(words, 0xff))), few_bytes,
                       reinterpret_cast<uint8_t *>(to + d * 32 + i));
        }
    }
    return hn::GetLane(hn::SumOfLanes(words, sum));
}

// False if a value is not finite.
template <int Count> HWY_INLINE bool put_digits(const float *x, Digits<Count> &out) {
    Floats most = hn::Set(floats, least_magnitude);
    auto finite = hn::Eq(most, most);
    for (int64_t i = 0; i < 32; i += lanes) {
        const Floats v = hn::Abs(hn::LoadU(floats, x + i));
        finite = hn::And(finite, hn::Le(v, hn::Set(floats, std::numeric_limits<float>::max())));
        most = hn::Max(most, v);
    }
    if (!hn::AllTrue(floats, finite)) return false;
    const float magnitude = hn::GetLane(hn::MaxOfLanes(floats, most));
    out.factor = magnitude * (1 / greatest_integer<Count>);
    const float inverse = greatest_integer<Count> / magnitude;
    for (int64_t at = 0; at < 32; at += 16)
        out.sums[at / 16] = out.factor * static_cast<float>(put_digits<Count>(x + at, inverse, out.digit[0] + at));
    out.sum = out.sums[0] + out.sums[1];
    return true;
}

template <int Count> HWY_ATTR bool put_rows(const float *x, int64_t rows, int64_t values, Digits<Count> *out) {
    bool finite = true;
    for_tiles<Count>(rows, [&]<int Rows>(int64_t first) HWY_ATTR {
        Digits<Count> *const to = out + first * (values / 32);
        for (int64_t r = 0; r < Rows; ++r)
            for (int64_t i = 0; i < values / 32; ++i)
                finite = put_digits(x + (first + r) * values + i * 32, to[i * Rows + r]) && finite;
    });
    return finite;
}

// ---- Widening ----

template <class Format>
HWY_ATTR void widen_strip(const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step) {
    using Block = Of<Format>;
    strip += first / Block::values * Block::bytes;
    for (const float *const end = out + values * step; out != end; strip += Block::bytes)
        for (int group = 0; group < Block::values / Block::in_group; ++group, out += Block::in_group * step)
            for (int64_t lane = 0; lane < strip_rows; lane += lanes) {
                const Block block{Place(strip, lane)};
                const Floats scale = block.scale(group), minimum = block.minimum(group, scale);
                float *to = out + lane;
                const auto widen_half = [&](auto half) HWY_ATTR {
                    for (int i = 0; i < Block::in_group / 8; ++i) {
                        const auto four = hn::BitCast(unsigned_words, block.template four<half>(group, i));
                        for (int j = 0; j < 4; ++j, to += step)
                            hn::StoreU(hn::MulAdd(bits_of(four, 8 * j, 255), scale, minimum), floats, to);
                    }
                };
                widen_half(std::integral_constant<int, 0>()), widen_half(std::integral_constant<int, 1>());
            }
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

HWY_ATTR bool all_to_digits(int digits, const float *x, int64_t rows, int64_t values, std::byte *out) {
    bool finite = false;
    with_digits(digits, [&]<int Count>()
                            HWY_ATTR { finite = put_rows(x, rows, values, reinterpret_cast<Digits<Count> *>(out)); });
    return finite;
}

// Measured on Zen 4, against floats: three digits are multiplied 1.25 times as fast in the dtypes whose blocks need the
// least unpacking, and no faster in the others; two digits 1.3 to 1.8 times, one digit 2 to 3 times.
HWY_ATTR bool strips_suit_many([[maybe_unused]] uint32_t dtype, int digits) {
#if HWY_TARGET == HWY_AVX3
    if (has_dot_products()) return digits < 3 || dtype == LAMINA_Q4_0 || dtype == LAMINA_Q4_1 || dtype == LAMINA_Q8_0;
#endif
    return digits < 2;
}

HWY_ATTR void add_any_products(const StripProduct &product, float *y, int64_t step) {
    with_format(product.dtype, [&]<class Format>() HWY_ATTR {
        with_digits(product.digits, [&]<int Count>() HWY_ATTR {
#if HWY_TARGET == HWY_AVX3
            if (product.dot_products) return add_products<Format, WordSums, Count>(product, y, step);
#endif
            if constexpr (Of<Format>::bits < 8) add_products<Format, ShortSums, Count>(product, y, step);
        });
    });
}

HWY_ATTR void widen_any_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out,
                              int64_t step) {
    with_format(dtype, [&]<class Format>() HWY_ATTR { widen_strip<Format>(strip, first, values, out, step); });
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {
namespace {

// A block begins and ends with so many numbers of two bytes. Between them are words of four bytes.
struct Numbers {
    int64_t before, after;
};
constexpr Numbers numbers_of(uint32_t dtype) {
    switch (dtype) {
    case LAMINA_Q8_0:
    case LAMINA_Q4_0:
    case LAMINA_Q5_0:
        return {1, 0};
    case LAMINA_Q6_K:
        return {0, 1};
    default:
        return {2, 0};
    }
}

// What all rows have at the bytes [begin, end), in pieces of `Bytes` bytes. Returns the end of what it has written.
template <int64_t Bytes>
std::byte *put_pieces(const std::byte *rows, const int64_t (&row)[strip_rows], int64_t begin, int64_t end,
                      std::byte *out) {
    for (int64_t i = begin; i < end; i += Bytes)
        for (const int64_t at : row) {
            std::memcpy(out, rows + at + i, Bytes);
            out += Bytes;
        }
    return out;
}

} // namespace

HWY_EXPORT(all_to_digits);
HWY_EXPORT(add_any_products);
HWY_EXPORT(strips_suit_many);
HWY_EXPORT(widen_any_strip);

bool has_dot_products() {
#if HWY_ARCH_X86
    static const bool has = (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; // it asks the processor, which takes long
    return has;
#else
    return false;
#endif
}

bool in_strips(uint32_t dtype) {
    return storage_type(dtype).in_blocks() && (dtype != LAMINA_Q8_0 || has_dot_products());
}

void put_strip(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out) {
    const int64_t size = storage_type(dtype).block_bytes, row_bytes = storage_type(dtype).row_bytes(values);
    const auto [before, after] = numbers_of(dtype);
    int64_t row[strip_rows]; // where each begins
    for (int64_t r = 0; r < strip_rows; ++r) row[r] = std::min(r, count - 1) * row_bytes;
    for (int64_t at = 0; at < row_bytes; at += size) {
        out = put_pieces<2>(rows, row, at, at + 2 * before, out);
        out = put_pieces<4>(rows, row, at + 2 * before, at + size - 2 * after, out);
        out = put_pieces<2>(rows, row, at + size - 2 * after, at + size, out);
    }
}

void put_strips(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out) {
    const int64_t row_bytes = storage_type(dtype).row_bytes(values);
    for (; count >= strip_rows; count -= strip_rows, rows += strip_rows * row_bytes, out += strip_rows * row_bytes)
        put_strip(dtype, rows, strip_rows, values, out);
    std::copy_n(rows, count * row_bytes, out);
}

bool digits_suit_many(uint32_t dtype, int digits) { return HWY_DYNAMIC_DISPATCH(strips_suit_many)(dtype, digits); }

bool to_digits(int digits, const float *x, int64_t rows, int64_t values, std::byte *out) {
    return HWY_DYNAMIC_DISPATCH(all_to_digits)(digits, x, rows, values, out);
}
void add_strip_products(const StripProduct &product, float *y, int64_t step) {
    HWY_DYNAMIC_DISPATCH(add_any_products)(product, y, step);
}
void widen_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step) {
    HWY_DYNAMIC_DISPATCH(widen_any_strip)(dtype, strip, first, values, out, step);
}

} // namespace lamina::plugin::cpu_fallback
#endif
