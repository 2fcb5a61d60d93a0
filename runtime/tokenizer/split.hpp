// Splitting a text by a pattern, and what becomes of the matches.
#pragma once

#include "tokenizer/regex.hpp"
#include "tokenizer/span.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lamina::tokenizer {

// A literal string, or a regular expression.
using Pattern = std::variant<std::string, Regex>;

// The matches in order, without overlap.
[[nodiscard]] std::vector<Span> find_all(const Pattern &pattern, std::string_view text);
// Each character for which the predicate holds, as a match of its own.
[[nodiscard]] std::vector<Span> find_all(const std::function<bool(char32_t)> &predicate, std::string_view text);

// What becomes of a match. "the-final--countdown", split by "-":
enum class Delimiter {
    removed,    // the final countdown
    isolated,   // the - final - - countdown
    before,     // the- final- - countdown     (MergedWithPrevious)
    behind,     // the -final - -countdown     (MergedWithNext)
    contiguous, // the - final -- countdown
};

// The parts of a text of `size` bytes. inverted: the text between the matches is the delimiter.
[[nodiscard]] std::vector<Span> split_at(const std::vector<Span> &matches, size_t size, Delimiter delimiter,
                                         bool inverted = false);

} // namespace lamina::tokenizer
