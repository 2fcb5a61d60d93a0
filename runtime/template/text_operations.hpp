// String operations shared by filters, methods and operators.
#pragma once

#include "template/characters.hpp"
#include "template/value.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lamina::jinja {

// strip(), charged to the run's budget.
[[nodiscard]] std::string_view strip_text(Run &run, std::string_view text, Side side, const std::string *characters);

// Python's str.replace(). most < 0: no limit.
[[nodiscard]] Value replaced(Run &run, std::string_view text, std::string_view old, std::string_view by, int64_t most);

} // namespace lamina::jinja
