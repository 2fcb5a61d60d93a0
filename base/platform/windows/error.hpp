// Errors of Windows as errno has them.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include <windows.h>

namespace lamina {

[[nodiscard]] inline int errno_of(DWORD error) {
    const std::error_condition same = std::system_category().default_error_condition(static_cast<int>(error));
    return same.category() == std::generic_category() ? same.value() : EIO;
}
[[nodiscard]] inline std::string words_of(DWORD error) {
    return std::system_category().message(static_cast<int>(error)) + " (error " + std::to_string(error) + ")";
}

} // namespace lamina
