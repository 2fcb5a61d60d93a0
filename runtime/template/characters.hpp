// Text as Python sees it: a sequence of code points, with Unicode's white space and letter cases.
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
[[nodiscard]] bool is_digit(char32_t code);     // str.isdigit(), of decimal digits

// Where white space from text[at] on ends.
[[nodiscard]] size_t end_of_space(std::string_view text, size_t at);

// Without leading and trailing characters that are among `characters`, or white space.
enum class Side { left, right, both };
[[nodiscard]] std::string_view strip(std::string_view text, Side side, const std::string *characters = nullptr);

// ß becomes SS. Other characters have one counterpart, unlike some rare ones in Python.
[[nodiscard]] std::string upper_case(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] std::string capitalized(std::string_view text); // the first character upper, all others lower case
[[nodiscard]] std::string title_case(std::string_view text);  // the same for every run of letters
// Jinja's filter title: words begin behind blanks, hyphens and opening brackets.
[[nodiscard]] std::string words_capitalized(std::string_view text);
[[nodiscard]] bool is_upper(char32_t code);
[[nodiscard]] bool is_lower(char32_t code);
[[nodiscard]] bool is_letter(char32_t code);

// The offset of `part` at or after `from`; npos: it is not there. Takes linear time, whatever the texts.
[[nodiscard]] size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

// For escapes: as many hexadecimal digits.
void append_hex(std::string &out, char32_t code, int digits);

// ---- Parts: these views are into `text` ----
// Python's text.split(separator, most), and rsplit. No separator: at runs of white space. most < 0: all.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, const std::string *separator, int64_t most);
[[nodiscard]] std::vector<std::string_view> split_from_right(std::string_view text, const std::string *separator,
                                                             int64_t most);
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends);

} // namespace lamina::jinja
