// The processor, and the operating system.
#pragma once

#include <cstddef>
#include <string>

namespace lamina {

// How many processors the process may use; at least 1.
[[nodiscard]] size_t cores();
// "Intel(R) Xeon(R) ..."; empty if the system does not say.
[[nodiscard]] std::string processor_name();
// "Linux 6.1.0 x86_64"
[[nodiscard]] std::string system_name();

} // namespace lamina
