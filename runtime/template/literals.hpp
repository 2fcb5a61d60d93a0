// Numbers and strings as they are written in templates.
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

// 0x1F, 0b101, 0o17, 1_000. Nothing: beyond 64 bits.
[[nodiscard]] std::optional<int64_t> integer_of(std::string_view literal);
[[nodiscard]] double real_of(std::string_view literal);

// What stands between quotes, with Python's escapes, is added to `out`. Returns what is wrong with it.
[[nodiscard]] std::optional<std::string> unescape(std::string_view text, std::string &out);

} // namespace lamina::jinja
