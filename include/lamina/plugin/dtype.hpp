// What a tensor's values are stored as: all that files, hosts, plugins and kernels need to know of a dtype.
#pragma once

#include <lamina/plugin.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace lamina::plugin {

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
