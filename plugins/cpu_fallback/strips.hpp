// Weights in blocks, sixteen rows at a time: a strip. The blocks of a strip follow each other as
// those of a row do. Within a block, what the rows have at the same place is together: the first two bytes of all
// sixteen, then the next. So a vector holds the same values of several rows, whose sums are its lanes, and nothing is
// moved between lanes. A strip takes as many bytes as its rows.
#pragma once

#include "digits.hpp"

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

inline constexpr int64_t strip_rows = 16;

// Whether the processor has an instruction that multiplies four pairs of bytes and adds the products.
bool has_dot_products();

// Whether products read weights of a dtype in strips: all in blocks, but q8_0 only where there are dot products.
// Without them rows.hpp is as fast, and the weights stay as they are.
bool in_strips(uint32_t dtype);

// Writes rows, which follow each other in memory, as strips. Rows that do not fill a strip stay as they are.
void put_strips(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out);
// Writes up to sixteen rows as one strip. Rows that are missing repeat the last one.
void put_strip(uint32_t dtype, const std::byte *rows, int64_t count, int64_t values, std::byte *out);

// How rows of x must lie to be multiplied with strips of a dtype, as integers of so many digits or as floats (0).
RowsForm rows_form(uint32_t dtype, int digits);

// Whether strips are multiplied with floats, unpacked on the way: where there are fused multiply-adds.
bool multiplies_floats();
// What so many rows of x are multiplied as fastest: integers of so many digits, or floats (0).
int fastest_digits(int digits, int64_t rows);

// Whether multiplying so many digits is faster than multiplying floats when there are many rows of x.
bool digits_suit_many(uint32_t dtype, int digits);

// y[r * step + n] += row n of the strip times row r of x, for n below `count`.
struct StripProduct {
    uint32_t dtype;
    const std::byte *strip;
    int64_t values, count;
    RowsForm form;      // of the dtype
    const std::byte *x; // as to_form() has written it
    int64_t rows;
    bool dot_products; // use them; only if has_dot_products()
};
void add_strip_products(const StripProduct &product, float *y, int64_t step);

// out[i * step + n] = value first + i of row n, exactly, for i below `values`. `first` is a multiple of a block's
// values, and so is `values`.
void widen_strip(uint32_t dtype, const std::byte *strip, int64_t first, int64_t values, float *out, int64_t step);

} // namespace lamina::plugin::cpu_fallback
