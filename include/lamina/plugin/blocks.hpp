// Formats with blocks of 32 values, bit for bit as in GGML in both directions: 8, 5 or 4 bits per value, a scale, and
// in some formats a minimum.
#pragma once

#include <lamina/plugin/single_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamina::plugin {

namespace detail {

// Reads and writes an f16 number within a block.
inline float half_at(const std::byte *at) {
    float value = 0;
    F16::widen(at, &value);
    return value;
}
inline void put_half(float value, std::byte *at) { F16::narrow(&value, at); }

// The lower or the upper 4 bits of a byte.
inline uint32_t nibble(std::byte b, bool upper) { return static_cast<uint32_t>(b) >> (upper ? 4U : 0U) & 15U; }

// Truncates a float and clamps it to 0 ... `most`. NaN gives 0.
inline uint32_t whole(float value, float most) {
    return static_cast<uint32_t>(std::fmin(std::fmax(value, 0.0F), most));
}

inline float inverse_of(float scale) { return std::isnormal(scale) ? 1 / scale : 0; }

// The value with the largest magnitude.
inline float farthest(const float *in, int64_t n) {
    float out = 0;
    for (int64_t i = 0; i < n; ++i)
        if (std::fabs(in[i]) > std::fabs(out)) out = in[i];
    return out;
}

} // namespace detail

// A scale, then 32 signed bytes: a value is scale * byte.
struct Q8_0 {
    static constexpr int64_t values = 32, bytes = 34;
    static void widen(const std::byte *block, float *out) {
        const float scale = detail::half_at(block);
        for (int64_t i = 0; i < values; ++i) out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
    }
    static void narrow(const float *in, std::byte *block) {
        const float scale = std::fabs(detail::farthest(in, values)) / 127, inverse = detail::inverse_of(scale);
        detail::put_half(scale, block);
        for (int64_t i = 0; i < values; ++i) {
            const float q = std::fmin(std::fmax(std::round(in[i] * inverse), -127.0F), 127.0F);
            block[2 + i] = static_cast<std::byte>(static_cast<int8_t>(q));
        }
    }
};

// Q4_0, Q4_1, Q5_0, Q5_1: a scale, a minimum (Q4_1, Q5_1), the fifth bits of the 32 values (Q5_0, Q5_1), and 16 bytes
// with the lower four bits of values 0 to 15 in their lower halves and of values 16 to 31 in their upper halves. A
// value is scale * q + minimum, or without a minimum scale * (q - 2^(bits - 1)).
template <int Bits, bool Minimum> struct FewBits {
    static constexpr int64_t values = 32, fifth_at = Minimum ? 4 : 2, low_at = fifth_at + (Bits == 5 ? 4 : 0),
                             bytes = low_at + 16;
    static constexpr int middle = 1 << (Bits - 1);
    static constexpr float most = (1 << Bits) - 1;

    static void widen(const std::byte *block, float *out) {
        const float scale = detail::half_at(block), minimum = Minimum ? detail::half_at(block + 2) : 0;
        uint32_t fifth = 0;
        if constexpr (Bits == 5) std::memcpy(&fifth, block + fifth_at, sizeof fifth);
        const auto put = [&](int64_t i, bool upper) {
            const uint32_t q = detail::nibble(block[low_at + i % 16], upper) | (fifth >> i & 1U) << 4U;
            out[i] = Minimum ? scale * static_cast<float>(q) + minimum
                             : scale * static_cast<float>(static_cast<int>(q) - middle);
        };
        for (int64_t i = 0; i < 16; ++i) put(i, false); // loops without a branch become vector instructions
        for (int64_t i = 16; i < values; ++i) put(i, true);
    }

    static void narrow(const float *in, std::byte *block) {
        float scale = 0, minimum = 0, rounding = 0.5F;
        if constexpr (Minimum) {
            const auto [least, largest] = std::minmax_element(in, in + values);
            minimum = *least;
            scale = (*largest - minimum) / most;
            detail::put_half(minimum, block + 2);
        } else {
            scale = detail::farthest(in, values) / -middle; // so that this value is represented exactly
            rounding += middle;
        }
        detail::put_half(scale, block);
        const float inverse = detail::inverse_of(scale);
        uint32_t fifth = 0;
        std::memset(block + low_at, 0, 16);
        for (int64_t i = 0; i < values; ++i) {
            const uint32_t q = detail::whole((in[i] - minimum) * inverse + rounding, most);
            block[low_at + i % 16] |= static_cast<std::byte>((q & 15U) << (i >= 16 ? 4U : 0U));
            fifth |= (q >> 4U) << i;
        }
        if constexpr (Bits == 5) std::memcpy(block + fifth_at, &fifth, sizeof fifth);
    }
};
using Q4_0 = FewBits<4, false>;
using Q4_1 = FewBits<4, true>;
using Q5_0 = FewBits<5, false>;
using Q5_1 = FewBits<5, true>;

} // namespace lamina::plugin
