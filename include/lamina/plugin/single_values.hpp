// Formats of single values: conversion to float and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamina::plugin {

// 32-bit values, copied as bits, which works for integers, too.
struct Words {
    static constexpr int64_t values = 1, bytes = 4;
    static void widen(const std::byte *block, float *out) { std::memcpy(out, block, bytes); }
    static void narrow(const float *in, std::byte *block) { std::memcpy(block, in, bytes); }
};

inline float widen_f16(uint16_t bits) { // IEEE 754 binary16, including subnormals, infinities and NaNs
    // Interpreted as a float, the shifted bits are too small by a factor of 2^112, subnormal or not.
    const float magnitude = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112F;
    const uint32_t exponent = magnitude >= 0x1p16F ? 0x7f800000u : 0; // for infinities and NaNs
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | exponent | sign);
}
inline float widen_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

namespace detail {
// Rounds away the lowest `bits` bits, to the nearest, ties to even.
constexpr uint32_t round_off(uint32_t value, uint32_t bits) {
    const uint32_t half = 1u << (bits - 1u), odd = (value >> bits) & 1u;
    return (value + half - 1u + odd) >> bits;
}
} // namespace detail

inline uint16_t narrow_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint32_t>((bits >> 16u) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);  // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u); // rounds beyond 65504
    if (magnitude >= 0x38800000u) // normal: the exponent's bias changes from 127 to 15
        return static_cast<uint16_t>(sign | detail::round_off(magnitude - (112u << 23u), 13));
    // Subnormal: multiples of 2^-24.
    const double steps = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
}
inline uint16_t narrow_bf16(float value) { // not for NaN
    return static_cast<uint16_t>(detail::round_off(std::bit_cast<uint32_t>(value), 16));
}

template <float Widen(uint16_t), uint16_t Narrow(float)> struct Halves {
    static constexpr int64_t values = 1, bytes = 2;
    static void widen(const std::byte *block, float *out) {
        uint16_t bits = 0;
        std::memcpy(&bits, block, sizeof bits);
        *out = Widen(bits);
    }
    static void narrow(const float *in, std::byte *block) {
        const uint16_t bits = Narrow(*in);
        std::memcpy(block, &bits, sizeof bits);
    }
};

using F16 = Halves<widen_f16, narrow_f16>;
using BF16 = Halves<widen_bf16, narrow_bf16>;

} // namespace lamina::plugin
