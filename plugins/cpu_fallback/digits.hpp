// Rows of x as they are multiplied with strips (strips.hpp): as integers, or as floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// What sums of products begin with, because the weights' integers have an offset: -offset times the sum of integers of
// x, which is 256 * upper + lower with three digits, otherwise `upper`.
struct Begin {
    int32_t upper, lower;
};

// The offset with which Begin has the sums of the integers of x themselves: 16 weights share a minimum.
inline constexpr int sums_of_halves = -1;

// 32 values of x as integers that share a factor, in Count digits of 8 bits: the first counts 256 times as much as the
// next. Three make them as accurate as floats of the size of the greatest.
template <int Count> struct alignas(16) Digits {
    int8_t digit[Count][32];
    float factor;
    float sum;      // of the values, as the integers stand for them
    Begin begin[2]; // of all 32, or of each half
};

struct RowsForm {
    int digits;          // of a value; 0: values stay floats
    int together = 1;    // rows that lie together, as they are multiplied: see rows_together()
    int offset = 0;      // of the weights' integers, or sums_of_halves; not for floats
    bool halves = false; // whether 16 weights share a scale, not 32; not for floats

    // Of 32 values.
    [[nodiscard]] constexpr int64_t bytes() const { return digits == 0 ? 32 * 4 : digits * 32 + 32; }
};
static_assert(RowsForm{1}.bytes() == sizeof(Digits<1>) && RowsForm{3}.bytes() == sizeof(Digits<3>));

// Of so many rows that are left, how many of the first are together: `most`, or else a few, or else one.
inline constexpr int some_together = 4;
constexpr int64_t rows_together(int64_t left, int64_t most) {
    const int64_t some = std::min<int64_t>(most, some_together);
    return left >= most ? most : left >= some ? some : 1;
}

// Rows of x, which follow each other, as Digits or floats; `values` is a multiple of 32. Those of rows that are
// together alternate: the first of each, then the second. So rows that are converted apart must be a multiple of
// apart_from_others, but for the last ones. False if a value is to become an integer, and is not finite.
bool to_form(const RowsForm &form, const float *x, int64_t rows, int64_t values, std::byte *out);
inline constexpr int64_t apart_from_others = 24;

} // namespace lamina::plugin::cpu_fallback
