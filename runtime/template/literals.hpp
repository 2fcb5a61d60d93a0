// Number and string literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::jinja {

struct NumberLiteral {
    size_t length;
    bool is_real;
};
// The number that begins at text[at], which is a digit.
[[nodiscard]] NumberLiteral number_at(std::string_view text, size_t at, bool may_be_real);

// 0x1F, 0b101, 0o17, 1_000. none: does not fit in 64 bits.
[[nodiscard]] std::optional<int64_t> integer_of(std::string_view literal);
[[nodiscard]] double real_of(std::string_view literal);

// Appends the content of a string literal, with Python's escapes, to `out`. Returns an error message, or none.
[[nodiscard]] std::optional<std::string> unescape(std::string_view text, std::string &out);

} // namespace lamina::jinja
