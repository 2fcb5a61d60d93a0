// What texts are split by, and what becomes of it.
#pragma once

#include "tokenizer/regex.hpp"
#include "tokenizer/span.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lamina::tokenizer {

// A text between two places, or a regular expression.
using Pattern = std::variant<std::string, Regex>;

// Where the pattern stands, in order, apart from each other.
[[nodiscard]] std::vector<Span> find_all(const Pattern &pattern, std::string_view text);
// Every character for which the predicate holds.
[[nodiscard]] std::vector<Span> find_all(const std::function<bool(char32_t)> &predicate, std::string_view text);

// Of a match: "the-final--countdown" by "-" becomes
enum class Delimiter {
    removed,    // the final countdown
    isolated,   // the - final - - countdown
    before,     // the- final- - countdown     (MergedWithPrevious)
    behind,     // the -final - -countdown     (MergedWithNext)
    contiguous, // the - final -- countdown
};

// The parts of a text of this size that is split at `matches`. inverted: what is between the matches is the delimiter.
[[nodiscard]] std::vector<Span> split_at(const std::vector<Span> &matches, size_t size, Delimiter delimiter,
                                         bool inverted = false);

} // namespace lamina::tokenizer
