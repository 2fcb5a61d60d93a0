// Compiled once for each SIMD instruction set: foreach_target.h includes this file again for each of them.
#include "digits.hpp"

#include <limits>

#include "simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "digits.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<int32_t, decltype(floats)> words;
using Integers = hn::Vec<decltype(words)>;

// A little less than the digits allow.
template <int Count>
constexpr int32_t greatest_integer = Count == 1   ? 127
                                     : Count == 2 ? 127 * 256
                                                  : 127 * 65536 + 127 * 256;
constexpr float least_magnitude = 1e-30F; // of 32 values; it divides the former

// The digits of 16 values as integers, each in 16 bytes, which are 32 apart. Returns the sum of the integers.
template <int Count> HWY_INLINE int32_t put_sixteen(const float *x, float inverse, int8_t *to) {
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

template <int Count> Begin begin_of(int32_t sum, int offset) {
    if (Count < 3) return {-offset * sum, 0};
    const int32_t upper = sum >> 8;
    return {-offset * upper, -offset * (sum - upper * 256)};
}

// False if a value is not finite.
template <int Count> HWY_INLINE bool put_digits(const RowsForm &form, const float *x, Digits<Count> &out) {
    Floats most = hn::Set(floats, least_magnitude);
    auto finite = hn::Eq(most, most);
    for (int64_t i = 0; i < 32; i += lanes) {
        const Floats v = hn::Abs(hn::LoadU(floats, x + i));
        finite = hn::And(finite, hn::Le(v, hn::Set(floats, std::numeric_limits<float>::max())));
        most = hn::Max(most, v);
    }
    if (!hn::AllTrue(floats, finite)) return false;
    constexpr auto greatest = static_cast<float>(greatest_integer<Count>);
    const float magnitude = hn::GetLane(hn::MaxOfLanes(floats, most)), inverse = greatest / magnitude;
    int32_t sums[2];
    for (int half = 0; half < 2; ++half)
        sums[half] = put_sixteen<Count>(x + half * 16, inverse, out.digit[0] + half * 16);
    out.factor = magnitude * (1 / greatest);
    out.sum = out.factor * static_cast<float>(sums[0] + sums[1]);
    out.begin[0] = begin_of<Count>(form.halves ? sums[0] : sums[0] + sums[1], form.offset);
    out.begin[1] = begin_of<Count>(sums[1], form.offset);
    return true;
}

template <int Count>
HWY_ATTR bool put_rows(const RowsForm &form, const float *x, int64_t rows, int64_t values, Digits<Count> *out) {
    bool finite = true;
    for (int64_t first = 0; first < rows;) {
        const int64_t count = rows_together(rows - first, form.together);
        Digits<Count> *const to = out + first * (values / 32);
        for (int64_t r = 0; r < count; ++r)
            for (int64_t i = 0; i < values / 32; ++i)
                finite = put_digits(form, x + (first + r) * values + i * 32, to[i * count + r]) && finite;
        first += count;
    }
    return finite;
}

void put_floats(const RowsForm &form, const float *x, int64_t rows, int64_t values, float *out) {
    for (int64_t first = 0; first < rows;) {
        const int64_t count = rows_together(rows - first, form.together);
        for (int64_t i = 0; i < values; ++i)
            for (int64_t r = 0; r < count; ++r) *out++ = x[(first + r) * values + i];
        first += count;
    }
}

} // namespace

HWY_ATTR bool all_to_form(const RowsForm &form, const float *x, int64_t rows, int64_t values, std::byte *out) {
    if (form.digits == 0) return put_floats(form, x, rows, values, reinterpret_cast<float *>(out)), true;
    if (form.digits == 1) return put_rows(form, x, rows, values, reinterpret_cast<Digits<1> *>(out));
    if (form.digits == 2) return put_rows(form, x, rows, values, reinterpret_cast<Digits<2> *>(out));
    return put_rows(form, x, rows, values, reinterpret_cast<Digits<3> *>(out));
}

} // namespace lamina::plugin::cpu_fallback::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lamina::plugin::cpu_fallback {

HWY_EXPORT(all_to_form);

bool to_form(const RowsForm &form, const float *x, int64_t rows, int64_t values, std::byte *out) {
    return HWY_DYNAMIC_DISPATCH(all_to_form)(form, x, rows, values, out);
}

} // namespace lamina::plugin::cpu_fallback
#endif
