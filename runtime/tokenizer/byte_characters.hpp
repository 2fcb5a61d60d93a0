// Byte-level tokenizers (GPT-2) write each byte as a visible character: printable ASCII and Latin-1 unchanged, the
// other bytes from U+0100 upwards. A space becomes U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::tokenizer {

[[nodiscard]] char32_t character_of_byte(unsigned char byte);
[[nodiscard]] std::string in_characters(std::string_view bytes);
[[nodiscard]] std::optional<unsigned char> byte_of_character(char32_t code); // none: stands for no byte

// The token of a single byte under byte fallback: "<0x0A>".
[[nodiscard]] std::string byte_token(unsigned char byte);
[[nodiscard]] std::optional<unsigned char> byte_of_token(std::string_view token); // none: not such a token

} // namespace lamina::tokenizer
