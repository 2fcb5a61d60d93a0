// Places temporary tensors in one block of memory. Tensors whose lifetimes do not overlap may share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamina::plan {

// The padded size of a tensor: a multiple of 16 bytes, and at least 16. plugin.h promises zeros after weights.
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
    std::vector<uint64_t> offsets; // one per lifetime, multiples of `align`
    uint64_t bytes = 0;
};

// Places the largest first, each at the lowest offset where it overlaps no other that lives at the same time.
[[nodiscard]] ArenaLayout lay_out(std::span<const Lifetime> lifetimes, uint64_t align);

} // namespace lamina::plan
