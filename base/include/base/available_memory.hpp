// How much memory this machine has available.
#pragma once

#include <cstdint>
#include <optional>

namespace lamina {

// Bytes that can be allocated without swapping, and within the limit of the process's control group, as containers have
// one; nothing if the system does not say. Linux promises more memory than it has (overcommit) and kills processes that
// use it, so large allocations are compared with this number first.
[[nodiscard]] std::optional<uint64_t> available_memory();

// Gives the system what this process has freed and still holds.
void give_back_freed_memory();

} // namespace lamina
