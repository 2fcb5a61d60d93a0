// The dtypes, as one table: files, the host, plugins and tests take what they know of a dtype from here. Kernels read
// weights through shaders/common/weight.glsl. docs/plugin_guide.md says what a new format for weights needs.
#pragma once

#include <lamina/plugin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lamina::plugin {

// ---- The formats: how a block of values becomes floats and back ----

// 32-bit values, copied bit by bit, so it serves integers, too.
struct Words {
    static constexpr int64_t values = 1, bytes = 4;
    static void widen(const std::byte *block, float *out) { std::memcpy(out, block, bytes); }
    static void narrow(const float *in, std::byte *block) { std::memcpy(block, in, bytes); }
};

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
    if (magnitude >= 0x38800000u) // normal: the exponent's bias falls from 127 to 15
        return static_cast<uint16_t>(sign | detail::round_off(magnitude - (112u << 23u), 13));
    // Subnormal: multiples of 2^-24.
    const double steps = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
}
inline uint16_t narrow_bf16(float value) { // of a value that is not NaN
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

// 32 values of a row: an f16 scale, then 32 signed bytes, each to be multiplied by it. The same bits as in GGML.
struct Q8_0 {
    static constexpr int64_t values = 32, bytes = 34;
    static void widen(const std::byte *block, float *out) {
        float scale = 0;
        Halves<widen_f16, narrow_f16>::widen(block, &scale);
        for (int64_t i = 0; i < values; ++i) out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
    }
    static void narrow(const float *in, std::byte *block) {
        float largest = 0;
        for (int64_t i = 0; i < values; ++i) largest = std::fmax(largest, std::fabs(in[i]));
        const float scale = largest / 127, inverse = std::isnormal(scale) ? 1 / scale : 0;
        Halves<widen_f16, narrow_f16>::narrow(&scale, block);
        for (int64_t i = 0; i < values; ++i)
            block[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(in[i] * inverse)));
    }
};

// ---- The table ----

// Values are stored in blocks along a row. A block has one value, or several that share a scale.
struct StorageType {
    uint32_t dtype;          // LAMINA_F32, ...
    const char *name;        // in model.json, in cases and in messages
    const char *safetensors; // in that format; "U8" for blocks (see docs/model_folder.md)
    int64_t block_values, block_bytes;
    void (*widen)(const std::byte *blocks, int64_t n, float *values);  // exactly
    void (*narrow)(const float *values, int64_t n, std::byte *blocks); // rounded to the format

    // Several values per block. Only weights may be stored so; their rows are whole blocks.
    [[nodiscard]] constexpr bool in_blocks() const { return block_values > 1; }
    [[nodiscard]] constexpr int64_t row_bytes(int64_t values) const { return values / block_values * block_bytes; }
};

template <class Format> constexpr StorageType storage(uint32_t dtype, const char *name, const char *safetensors) {
    return {dtype,
            name,
            safetensors,
            Format::values,
            Format::bytes,
            [](const std::byte *blocks, int64_t n, float *values) {
                for (int64_t i = 0; i < n; ++i) Format::widen(blocks + i * Format::bytes, values + i * Format::values);
            },
            [](const float *values, int64_t n, std::byte *blocks) {
                for (int64_t i = 0; i < n; ++i) Format::narrow(values + i * Format::values, blocks + i * Format::bytes);
            }};
}

inline constexpr std::array storage_types{
    storage<Words>(LAMINA_F32, "f32", "F32"),
    storage<Halves<widen_f16, narrow_f16>>(LAMINA_F16, "f16", "F16"),
    storage<Halves<widen_bf16, narrow_bf16>>(LAMINA_BF16, "bf16", "BF16"),
    storage<Words>(LAMINA_I32, "i32", "I32"),
    storage<Q8_0>(LAMINA_Q8_0, "q8_0", "U8"),
};

// Throws std::logic_error for a dtype that the table does not have.
constexpr const StorageType &storage_type(uint32_t dtype) {
    for (const StorageType &type : storage_types)
        if (type.dtype == dtype) return type;
    throw std::logic_error("no dtype " + std::to_string(dtype));
}

// The dtypes that weights may have: one value a block, and in blocks.
inline constexpr uint32_t value_dtypes = LAMINA_F32 | LAMINA_F16 | LAMINA_BF16;
inline constexpr uint32_t block_dtypes = [] {
    uint32_t bits = 0;
    for (const StorageType &type : storage_types)
        if (type.in_blocks()) bits |= type.dtype;
    return bits;
}();
inline constexpr uint32_t weight_dtypes = value_dtypes | block_dtypes;

// "f32, f16 or bf16": the names of a set of dtypes.
inline std::string dtype_names(uint32_t dtypes) {
    std::string out;
    for (size_t i = storage_types.size(); i-- > 0;) {
        if ((storage_types[i].dtype & dtypes) == 0) continue;
        dtypes &= ~storage_types[i].dtype;
        const char *after = out.empty() ? "" : out.find(" or ") == std::string::npos ? " or " : ", ";
        out = storage_types[i].name + (after + out);
    }
    return out;
}

} // namespace lamina::plugin
