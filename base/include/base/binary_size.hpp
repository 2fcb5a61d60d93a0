// Numbers of bytes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace lamina {

// "17 B", "1.5 KiB", "139 GiB".
[[nodiscard]] std::string binary_size(uint64_t bytes);

} // namespace lamina
