// The name of the processor.
#pragma once

#include <string>

namespace lamina {

// "Intel(R) Xeon(R) ..."; empty if the system does not say.
[[nodiscard]] std::string processor_name();

} // namespace lamina
