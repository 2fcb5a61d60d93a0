// Weights in blocks, sixteen rows at a time: a strip. The blocks of a strip follow each other as
// those of a row do. Within a block, what the rows have at the same place is together: the first two bytes of all
// sixteen, then the next. So a vector holds the same values of several rows, whose sums are its lanes, and nothing is
// moved between lanes. A strip takes as many bytes as its rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

inline constexpr int64_t strip_rows = 16;

// Whether the processor has an instruction that multiplies four pairs of bytes and adds the products.
bool has_dot_products();

// Whether products read weights of a dtype in strips. Weights of eight bits need dot products: sums of two of them do not
// fit into 16 bits.
bool in_strips(uint32_t dtype);

// Writes rows, which follow each other in memory, as strips. Rows that do not fill a strip stay as they are.
void put_strips(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out);
// Writes up to sixteen rows as one strip. Rows that are missing repeat the last one.
void put_strip(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out);

// 32 values of x as integers that share a factor, in Count digits of 8 bits: the first counts 256 times as much as the
// next. Three make them as accurate as floats of the size of the greatest.
template <int Count> struct alignas(16) Digits {
    int8_t digit[Count][32];
    float factor;
    float sum, sums[2]; // of the values, as the integers stand for them: of all, and of each half
};
inline constexpr int most_digits = 3;
constexpr int64_t digits_bytes(int digits) { return digits * 32 + 16; }
static_assert(digits_bytes(1) == sizeof(Digits<1>) && digits_bytes(3) == sizeof(Digits<3>));

// Rows of x, which follow each other, as Digits<digits>; `values` is a multiple of 32. False if a value is not finite:
// then there are no such integers. The digits of rows that are multiplied together are together, so rows that are
// converted apart must be multiples of digits_together, but for the last ones.
bool to_digits(int digits, const float *x, int64_t rows, int64_t values, std::byte *out);
inline constexpr int64_t digits_together = 24;

// Whether multiplying so many digits is faster than multiplying floats when there are many rows of x.
bool digits_suit_many(uint32_t dtype, int digits);

// y[r * step + n] += row n of the strip times row r of x, for n below `count`.
struct StripProduct {
    uint32_t dtype;
    const std::byte *strip;
    int64_t values, count;
    int digits;
    const std::byte *x; // as to_digits() has written it
    int64_t rows;
    bool dot_products; // use them; only if has_dot_products()
};
void add_strip_products(const StripProduct &product, float *y, int64_t step);

// out[i * step + n] = value first + i of row n, exactly, for i below `values`. `first` is a multiple of a block's
// values, and so is `values`.
void widen_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step);

} // namespace lamina::plugin::cpu_fallback
