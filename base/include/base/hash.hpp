// A hash that tells builds and damaged files apart. It is no defence against deliberate collisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lamina {

// FNV-1a, 64 bits.
[[nodiscard]] constexpr uint64_t hash_of(std::span<const std::byte> bytes) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3ull;
    return hash;
}

} // namespace lamina
