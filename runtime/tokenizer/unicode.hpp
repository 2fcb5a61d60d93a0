// Properties of characters, as Hugging Face's tokenizers has them (unicode_tables.hpp).
#pragma once

#include "base/utf8.hpp"

#include <string>
#include <string_view>

namespace lamina::tokenizer {

// Replaces each maximal invalid part by U+FFFD (Unicode 15, section 3.9, table 3-8).
[[nodiscard]] std::string with_replacements(std::string_view bytes);

[[nodiscard]] bool is_whitespace(char32_t code);
[[nodiscard]] bool is_punctuation(char32_t code);     // BERT's definition, which includes ASCII symbols
[[nodiscard]] bool is_control(char32_t code);         // what BERT removes
[[nodiscard]] bool is_nonspacing_mark(char32_t code); // category Mn, as BERT strips them
[[nodiscard]] bool is_mark(char32_t code);            // categories M*
[[nodiscard]] bool is_numeric(char32_t code);
[[nodiscard]] bool is_word(char32_t code);    // \w
[[nodiscard]] bool normalizes(char32_t code); // a normal form may change it
// A number for each script; 0 for characters that go with every script, such as spaces.
[[nodiscard]] uint32_t script_of(char32_t code);
// Extends the character before it, but is too new for older libraries to know.
[[nodiscard]] bool is_late_mark(char32_t code);
[[nodiscard]] std::u32string lower_case(char32_t code);
[[nodiscard]] std::string lower_case(std::string_view utf8); // each character by itself
// A character that every library knows, that regular expressions treat the same, and that is as long in UTF-8.
[[nodiscard]] char32_t stand_in(char32_t code);

} // namespace lamina::tokenizer
