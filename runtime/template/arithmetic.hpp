// Numbers as in Python, but whole ones have 64 bits.
#pragma once

#include "template/value.hpp"

#include <string>
#include <string_view>

namespace lamina::jinja {

// Both are numbers. Fails beyond 64 bits, and on division by zero.
[[nodiscard]] Value number_arithmetic(Run &run, std::string_view symbol, const Value &left, const Value &right);

// repr(): the shortest text that reads back as the same double.
[[nodiscard]] std::string text_of_real(double value);

// Python's round(): halves go to the even neighbour. digits < 0: tens, hundreds, ...
[[nodiscard]] double rounded(double value, int64_t digits);

} // namespace lamina::jinja
