// The most memory that this process has had since it began, or since the last reset. 0 if the system does not say.
#pragma once

#include <cstdint>

namespace lamina {

[[nodiscard]] uint64_t peak_memory(); // bytes
void reset_peak_memory();             // does nothing where the system cannot

} // namespace lamina
