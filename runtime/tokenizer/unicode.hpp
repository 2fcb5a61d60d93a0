// Properties of characters, as tokenizers were trained with them (unicode_tables.hpp).
#pragma once

#include "base/utf8.hpp"

#include <string>
#include <string_view>

namespace lamina::tokenizer {

// Each longest part that no valid text begins with becomes U+FFFD (Unicode 15, section 3.9, table 3-8).
[[nodiscard]] std::string with_replacements(std::string_view bytes);

[[nodiscard]] bool is_whitespace(char32_t code);
[[nodiscard]] bool is_punctuation(char32_t code);     // BERT's: ASCII's symbols, too
[[nodiscard]] bool is_control(char32_t code);         // what BERT removes
[[nodiscard]] bool is_nonspacing_mark(char32_t code); // Mn of BERT
[[nodiscard]] bool is_mark(char32_t code);            // M*
[[nodiscard]] bool is_numeric(char32_t code);
[[nodiscard]] bool is_word(char32_t code);    // \w
[[nodiscard]] bool normalizes(char32_t code); // a normal form may change it
[[nodiscard]] bool
is_late_mark(char32_t code); // seen as part of the character before, which older libraries do not know
[[nodiscard]] std::u32string lower_case(char32_t code);
// A character that regular expressions treat alike, of the same length in UTF-8, and which every library knows.
[[nodiscard]] char32_t stand_in(char32_t code);

} // namespace lamina::tokenizer
