#include "session/widen.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace lamina::session {

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

} // namespace lamina::session
