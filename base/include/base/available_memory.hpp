// How much memory this machine has available.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lamina {

// Bytes that can be allocated without swapping, and within the limit of the process's control group, as containers have
// one; nothing if the system does not say. Linux promises more memory than it has (overcommit) and kills processes that
// use it, so large allocations are compared with this number first.
[[nodiscard]] std::optional<uint64_t> available_memory();

// The same from the text of /proc/meminfo.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view meminfo);

// What a control group leaves of its limit, from the texts of memory.max, memory.current and memory.stat (version 2).
// What is cached of files does not count as used, because the kernel drops it first. Nothing if there is no limit.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view limit, std::string_view current,
                                                       std::string_view stat);

} // namespace lamina
