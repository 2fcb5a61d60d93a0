// How much memory this machine could give now.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lamina {

// Bytes that may be allocated without swapping; nothing where the system does not tell. Linux promises more than it has
// (overcommit), and kills whoever takes it at its word: large needs are held to this before anything is allocated.
[[nodiscard]] std::optional<uint64_t> available_memory();

// The same from the text of /proc/meminfo.
[[nodiscard]] std::optional<uint64_t> available_memory(std::string_view meminfo);

} // namespace lamina
