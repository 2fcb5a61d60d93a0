// Parts of grammars in the notation of Grammar::gbnf().
#pragma once

#include <string>
#include <string_view>

namespace lamina::serve {

[[nodiscard]] std::string rule_text(std::string_view text); // between quotes

// Rules for a text up to the end of the first mark in it (RULE0), and for one without a mark (RULE-none0). Which part
// of the mark a text ends with decides what follows (Knuth, Morris, Pratt: Fast Pattern Matching in Strings, 1977).
[[nodiscard]] std::string rules_up_to(const std::string &rule, std::string_view mark);

} // namespace lamina::serve
