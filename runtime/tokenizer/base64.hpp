// Base64 (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace lamina::tokenizer {

[[nodiscard]] std::string from_base64(std::string_view text); // throws Error(input) if it is not base64
[[nodiscard]] std::string to_base64(std::string_view bytes);

} // namespace lamina::tokenizer
