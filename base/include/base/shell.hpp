// Commands that are printed to be pasted into a shell.
#pragma once

#include <string>
#include <string_view>

namespace lamina {

// `text` as one word of a POSIX shell, in single quotes if necessary.
[[nodiscard]] std::string shell_word(std::string_view text);

} // namespace lamina
