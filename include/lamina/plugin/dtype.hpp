// What a tensor's values are stored as: all that files, hosts, plugins and kernels need to know of a dtype.
#pragma once

#include <lamina/plugin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace lamina::plugin {

inline float widen_f16(uint16_t bits) { // IEEE 754 binary16, subnormals, infinities and NaNs included
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) { // zero or subnormal: mantissa * 2^-24
        const float value = static_cast<float>(mantissa) * 0x1p-24F;
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

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
    if (magnitude >= 0x38800000u) // normal: the exponent's bias falls from 127 to 15
        return static_cast<uint16_t>(sign | detail::round_off(magnitude - (112u << 23u), 13));
    // Subnormal: multiples of 2^-24.
    const double steps = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
}

// Values are stored in blocks along a row: one value each, or several that share a scale.
struct StorageType {
    uint32_t dtype;   // LAMINA_F32, ...
    const char *name; // in model.json, in cases and for people
    int64_t block_values, block_bytes;

    [[nodiscard]] constexpr int64_t row_bytes(int64_t values) const { return values / block_values * block_bytes; }
};

inline constexpr std::array storage_types{
    StorageType{LAMINA_F32, "f32", 1, 4},     StorageType{LAMINA_F16, "f16", 1, 2},
    StorageType{LAMINA_BF16, "bf16", 1, 2},   StorageType{LAMINA_I32, "i32", 1, 4},
    StorageType{LAMINA_Q8_0, "q8_0", 32, 34},
};

// Throws std::logic_error for a dtype that the table does not have.
constexpr const StorageType &storage_type(uint32_t dtype) {
    for (const StorageType &type : storage_types)
        if (type.dtype == dtype) return type;
    throw std::logic_error("no dtype " + std::to_string(dtype));
}

} // namespace lamina::plugin
