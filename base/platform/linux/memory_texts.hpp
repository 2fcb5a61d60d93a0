// What Linux says about memory, in the texts of its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lamina {

// The available memory according to the text of /proc/meminfo.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view meminfo);

// What a control group leaves of its limit, from the texts of memory.max, memory.current and memory.stat (version 2).
// What is cached of files does not count as used, because the kernel drops it first. Nothing if there is no limit.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view limit, std::string_view current,
                                                       std::string_view stat);

} // namespace lamina
