// UTF-8 that may be invalid: reads it, and shows it in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lamina {

// The bytes at text[at] that form a character or its beginning, and whether the character is complete.
struct Utf8Prefix {
    size_t length; // 1 to 4
    bool whole;
};
[[nodiscard]] Utf8Prefix utf8_prefix(std::string_view text, size_t at);

// The number of bytes of the code point at text[at], 1 to 4; 0 if the text there is not valid UTF-8 (overlong forms,
// surrogates and values above U+10FFFF are invalid).
[[nodiscard]] size_t utf8_length(std::string_view text, size_t at);

// The offset of the first byte that is not valid UTF-8; text.size() if there is none.
[[nodiscard]] size_t first_invalid_utf8(std::string_view text);

// ---- For valid UTF-8 ----
struct Character {
    char32_t code;
    size_t length; // bytes in UTF-8
};

// The character at text[at].
[[nodiscard]] Character character_at(std::string_view text, size_t at);
// The character that ends before text[end].
[[nodiscard]] Character character_before(std::string_view text, size_t end);
[[nodiscard]] size_t length_in_utf8(char32_t code);
void append_utf8(std::string &out, char32_t code);
[[nodiscard]] std::string utf8(char32_t code);
[[nodiscard]] size_t count_characters(std::string_view text);

// ---- In messages ----
// The text as one line that is safe on a terminal: control characters and invalid bytes appear as \x1b, and long text
// is cut off with "...".
[[nodiscard]] std::string printable(std::string_view text);

// printable() between single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

} // namespace lamina
