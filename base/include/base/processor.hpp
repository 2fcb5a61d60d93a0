// What processor this is.
#pragma once

#include <string>

namespace lamina {

// "Intel(R) Xeon(R) ..."; empty where the system does not say.
[[nodiscard]] std::string processor_name();

} // namespace lamina
