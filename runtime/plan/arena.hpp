// Where temporary tensors lie in one block of memory: tensors whose lifetimes do not meet share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// What a tensor takes: a multiple of 16 bytes, and some where it has none. plugin.h promises zeros behind weights.
[[nodiscard]] constexpr uint64_t padded(uint64_t bytes) { return bytes == 0 ? 16 : (bytes + 15) / 16 * 16; }

struct MemoryRequest {
    std::string name; // for messages: "'generator.weight'"
    uint64_t bytes = 0;
};

struct Lifetime {
    uint64_t bytes = 0;
    size_t first = 0, last = 0; // steps, both inclusive
};

struct ArenaLayout {
    std::vector<uint64_t> offsets; // one a lifetime, multiples of `align`
    uint64_t bytes = 0;
};

// Largest first, each at the lowest offset where it meets no other that lives at the same time.
[[nodiscard]] ArenaLayout lay_out(std::span<const Lifetime> lifetimes, uint64_t align);

} // namespace lamina::plan
