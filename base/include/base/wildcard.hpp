// Patterns for names, as shells have them.
#pragma once

#include <string_view>

namespace lamina {

// "*" stands for any characters, "?" for one, "[a-z_]" for one of these and "[!0-9]" for one that is none of these. A
// "[" without its "]" is itself.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

} // namespace lamina
