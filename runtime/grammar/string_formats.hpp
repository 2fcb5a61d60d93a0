// Values of the keyword "format" (JSON Schema Validation, draft 2020-12, section 7.3).
#pragma once

#include "grammar/expression.hpp"

#include <optional>
#include <string_view>

namespace lamina::grammar {

// Texts of the format; nothing for others, which are annotations.
[[nodiscard]] std::optional<Expression> string_format(std::string_view name);

} // namespace lamina::grammar
