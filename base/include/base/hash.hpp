// A hash that tells builds and damaged files apart. It is no defence against deliberate collisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lamina {

// As FNV-1a of 64 bits, but of eight bytes at a time: bytes that differ in one word differ in their hash.
[[nodiscard]] constexpr uint64_t hash_of(std::span<const std::byte> bytes) {
    uint64_t hash = 0xcbf29ce484222325ull ^ bytes.size();
    const auto add = [&](std::span<const std::byte> some) {
        uint64_t word = 0;
        for (size_t i = 0; i < some.size(); ++i) word |= static_cast<uint64_t>(some[i]) << 8 * i;
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 32;
    };
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) add(bytes.first<8>());
    add(bytes);
    return hash;
}

} // namespace lamina
