// One table of all dtypes, for file formats, the host, plugins and tests. Kernels read weights with
// shaders/common/weight.glsl. docs/plugin_guide.md says how to add a format for weights.
#pragma once

#include <lamina/plugin.h>
#include <lamina/plugin/blocks.hpp>
#include <lamina/plugin/codebook_blocks.hpp>
#include <lamina/plugin/k_blocks.hpp>
#include <lamina/plugin/single_values.hpp>
#include <lamina/plugin/small_k_blocks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace lamina::plugin {

// ---- The table ----

// Values are stored in blocks along a row. A block has one value, or several that share a scale.
struct StorageType {
    uint32_t dtype;          // LAMINA_F32, ...
    const char *name;        // in model.json, in cases and in messages
    const char *safetensors; // its name in safetensors; "U8" for blocks (see docs/model_folder.md)
    int64_t block_values, block_bytes;
    void (*widen)(const std::byte *blocks, int64_t n, float *values);  // exactly
    void (*narrow)(const float *values, int64_t n, std::byte *blocks); // rounded to the format

    // Whether a block has several values. Only weights may have such a dtype; their rows are whole blocks.
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
    storage<Words>(LAMINA_F32, "f32", "F32"),       storage<F16>(LAMINA_F16, "f16", "F16"),
    storage<BF16>(LAMINA_BF16, "bf16", "BF16"),     storage<Words>(LAMINA_I32, "i32", "I32"),
    storage<Q8_0>(LAMINA_Q8_0, "q8_0", "U8"),       storage<Q4_0>(LAMINA_Q4_0, "q4_0", "U8"),
    storage<Q4_1>(LAMINA_Q4_1, "q4_1", "U8"),       storage<Q5_0>(LAMINA_Q5_0, "q5_0", "U8"),
    storage<Q5_1>(LAMINA_Q5_1, "q5_1", "U8"),       storage<Q4_K>(LAMINA_Q4_K, "q4_k", "U8"),
    storage<Q5_K>(LAMINA_Q5_K, "q5_k", "U8"),       storage<Q6_K>(LAMINA_Q6_K, "q6_k", "U8"),
    storage<Q2_K>(LAMINA_Q2_K, "q2_k", "U8"),       storage<Q3_K>(LAMINA_Q3_K, "q3_k", "U8"),
    storage<IQ4_NL>(LAMINA_IQ4_NL, "iq4_nl", "U8"), storage<IQ4_XS>(LAMINA_IQ4_XS, "iq4_xs", "U8"),
    storage<I8_K>(LAMINA_I8_K, "i8_k", "U8"),       storage<I4_K>(LAMINA_I4_K, "i4_k", "U8"),
};

// Throws std::logic_error for a dtype that is not in the table.
constexpr const StorageType &storage_type(uint32_t dtype) {
    for (const StorageType &type : storage_types)
        if (type.dtype == dtype) return type;
    throw std::logic_error("no dtype " + std::to_string(dtype));
}

// The dtypes that weights may have: single values, and blocks.
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
