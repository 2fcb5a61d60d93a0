#include "base/half.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace lamina {
namespace {

// Rounds away the lowest `bits` bits, to the nearest, ties to even.
uint32_t round_off(uint32_t value, uint32_t bits) {
    const uint32_t half = 1u << (bits - 1u), odd = (value >> bits) & 1u;
    return (value + half - 1u + odd) >> bits;
}

} // namespace

float widen_f16(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) { // zero or subnormal: mantissa * 2^-24
        const float value = std::ldexp(static_cast<float>(mantissa), -24);
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

float widen_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

void widen(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
    if (size_of(dtype) == 4) {
        std::memcpy(out.data(), bytes.data(), bytes.size());
        return;
    }
    for (size_t i = 0; i * 2 < bytes.size(); ++i) {
        uint16_t word = 0;
        std::memcpy(&word, bytes.data() + i * 2, sizeof word);
        out[i] = dtype == DType::f16 ? widen_f16(word) : widen_bf16(word);
    }
}

Tensor widened(const Tensor &narrow) {
    if (narrow.dtype() == DType::f32) return narrow;
    Tensor out(TensorType{DType::f32, narrow.shape()});
    widen(narrow.dtype(), narrow.bytes(), out.f32());
    return out;
}

uint16_t narrow_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint32_t>((bits >> 16u) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);  // NaN
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u); // rounds beyond 65504
    if (magnitude >= 0x38800000u) // normal: the exponent's bias falls from 127 to 15
        return static_cast<uint16_t>(sign | round_off(magnitude - (112u << 23u), 13));
    // Subnormal: multiples of 2^-24.
    const double steps = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
}

uint16_t narrow_bf16(float value) { return static_cast<uint16_t>(round_off(std::bit_cast<uint32_t>(value), 16)); }

Tensor narrowed(const Tensor &wide, DType dtype) {
    if (dtype == DType::f32) return wide;
    Tensor out(TensorType{dtype, wide.shape()});
    std::byte *to = out.bytes().data();
    for (const float v : wide.f32()) {
        const uint16_t bits = dtype == DType::f16 ? narrow_f16(v) : narrow_bf16(v);
        std::memcpy(to, &bits, sizeof bits);
        to += sizeof bits;
    }
    return out;
}

} // namespace lamina
