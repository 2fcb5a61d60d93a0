// Text from files that may be broken: UTF-8, and how to show it in a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lamina {

// How the bytes at text[at] begin: as many of them as could still become a character, and whether they are one.
struct Utf8Prefix {
    size_t length; // 1 to 4
    bool whole;
};
[[nodiscard]] Utf8Prefix utf8_prefix(std::string_view text, size_t at);

// The bytes of the code point that begins at text[at], 1 to 4; 0 when what stands there is not valid UTF-8 (overlong
// forms, surrogates and values above U+10FFFF are not).
[[nodiscard]] size_t utf8_length(std::string_view text, size_t at);

// The offset of the first byte that is not valid UTF-8; text.size() when all of it is.
[[nodiscard]] size_t first_invalid_utf8(std::string_view text);

// ---- Of valid UTF-8 ----
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
// The text as one line that is safe on a terminal: control characters and invalid bytes as \x1b, long text cut with
// "...".
[[nodiscard]] std::string printable(std::string_view text);

// printable() between single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

} // namespace lamina
