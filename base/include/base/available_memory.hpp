// How much memory this machine has available.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace lamina {

// Bytes that can be allocated without swapping, and within the limit of the process's control group, as containers have
// one; nothing if the system does not say. Linux promises more memory than it has (overcommit) and kills processes that
// use it, so large allocations are compared with this number first. The system takes longer to answer than most cases
// of a kernel take to run: an answer of the last 10 ms counts, too, if it is `enough`.
[[nodiscard]] std::optional<uint64_t> available_memory(uint64_t enough = std::numeric_limits<uint64_t>::max());

// Gives the system what this process has freed and still holds.
void give_back_freed_memory();
// From now on blocks of this size and more go back to the system when they are freed, wherever they lie.
void give_back_large_blocks(size_t bytes);

} // namespace lamina
