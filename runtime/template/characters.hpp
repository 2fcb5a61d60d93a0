// Strings as in Python: sequences of code points, with Unicode's white space and letter cases.
#pragma once

#include "base/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::jinja {

[[nodiscard]] bool is_space(char32_t code);     // str.isspace()
[[nodiscard]] bool is_printable(char32_t code); // str.isprintable()

// The end of the white space that begins at text[at].
[[nodiscard]] size_t end_of_space(std::string_view text, size_t at);

// Removes leading and trailing characters that occur in `characters`; null: white space.
enum class Side { left, right, both };
[[nodiscard]] std::string_view strip(std::string_view text, Side side, const std::string *characters = nullptr);

// ß becomes SS. Other characters map to one character, where Python maps a few rare ones to several.
[[nodiscard]] std::string upper_case(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] std::string capitalized(std::string_view text); // upper case, then lower case
[[nodiscard]] std::string title_case(std::string_view text);  // the same for each run of letters
// Jinja's filter title: words begin after white space, hyphens and opening brackets.
[[nodiscard]] std::string words_capitalized(std::string_view text);
[[nodiscard]] bool is_letter(char32_t code);

// The offset of the first `part` at or after `from`; npos: none. Takes linear time for any input.
[[nodiscard]] size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

// Appends the code with this many hexadecimal digits.
void append_hex(std::string &out, char32_t code, int digits);

// ---- Splitting; the results are views into `text` ----
// Python's text.split(separator, most). separator null: runs of white space. most < 0: no limit.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, const std::string *separator, int64_t most);
// The same as text.splitlines().
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

} // namespace lamina::jinja
