// Python's arithmetic, except that integers have 64 bits.
#pragma once

#include "template/value.hpp"

#include <string>
#include <string_view>

namespace lamina::jinja {

// Both must be numbers. Fails on overflow and on division by zero.
[[nodiscard]] Value number_arithmetic(Run &run, std::string_view symbol, const Value &left, const Value &right);

// Python's repr(): the shortest text that reads back as the same double.
[[nodiscard]] std::string text_of_real(double value);

} // namespace lamina::jinja
