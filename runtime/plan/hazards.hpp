// Finds where a list of dispatches needs barriers: read after write, write after read, write after write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lamina::plan {

struct Access {
    uint32_t memory = 0; // which allocation
    uint64_t begin = 0, end = 0;
    bool reads = false, writes = false;
};

// result[i]: a barrier is needed before dispatch i. A barrier orders everything before it with everything after it.
[[nodiscard]] std::vector<bool> place_barriers(std::span<const std::vector<Access>> dispatches);

} // namespace lamina::plan
