// How much memory this machine has available.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lamina {

// Bytes that can be allocated without swapping; nothing if the system does not say. Linux promises more memory than it
// has (overcommit) and kills processes that use it, so large allocations are compared with this number first.
[[nodiscard]] std::optional<uint64_t> available_memory();

// The same from the text of /proc/meminfo.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view meminfo);

} // namespace lamina
