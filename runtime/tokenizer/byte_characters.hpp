// Byte-level tokenizers write each byte as a character that can be seen: ASCII and Latin-1 as they are, other bytes
// from U+0100 on (GPT-2). A blank becomes U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::tokenizer {

[[nodiscard]] char32_t character_of_byte(unsigned char byte);
[[nodiscard]] std::optional<unsigned char> byte_of_character(char32_t code); // none: no byte is written so

// Byte fallback names tokens of single bytes so: "<0x0A>".
[[nodiscard]] std::string byte_token(unsigned char byte);
[[nodiscard]] std::optional<unsigned char> byte_of_token(std::string_view token); // none: it is no such token

} // namespace lamina::tokenizer
