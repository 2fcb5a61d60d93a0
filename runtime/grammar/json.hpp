// Parts of JSON texts (RFC 8259).
#pragma once

#include "grammar/expression.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::grammar::json {

// Nothing, a blank, or a line break with an indent: no model goes on with blanks for ever.
[[nodiscard]] Expression space();
// "[", the parts with commas between them, "]"; no blanks where nothing is inside. Likewise with braces.
[[nodiscard]] Expression enclosed(std::string_view open, Expression inside, std::string_view close);
[[nodiscard]] Expression comma(); // with the space that may follow

// ---- Texts ----
[[nodiscard]] Expression quoted(Expression characters);
[[nodiscard]] Expression any_character(); // of a text between quotes, escaped where it must be
// The same texts, as they are written between quotes.
[[nodiscard]] Expression escaped(const Expression &e);
// A text of plain characters that is none of these.
[[nodiscard]] Expression none_of(const std::vector<std::string> &texts);

// ---- Numbers ----
struct Bound {
    double value = 0;
    bool included = true;
};
struct Bounds {
    std::optional<Bound> least{}, most{};
};
inline constexpr double largest_bound = 1e15;
// In decimal notation, of at most 16 digits before the point and 16 behind it; exponents only where there are no
// bounds, which are at most largest_bound.
[[nodiscard]] Expression number(const Bounds &bounds);
[[nodiscard]] Expression integer(const Bounds &bounds);

// ---- Values ----
// Adds rules for any value, and for an object of any values. Returns their numbers.
struct AnyValue {
    uint32_t value, object;
};
[[nodiscard]] AnyValue add_any_value(Rules &rules);

} // namespace lamina::grammar::json
