// Parts of values: value.name, value[index], value[begin:end:step]. What is not there is undefined, as in Jinja.
#pragma once

#include "template/value.hpp"

#include <optional>
#include <string_view>

namespace lamina::jinja {

[[nodiscard]] Value attribute_of(Run &run, const Value &value, std::string_view name); // a method or a member
[[nodiscard]] Value item_of(Run &run, const Value &value, const Value &index);         // a member, or else a method
[[nodiscard]] Value slice_of(Run &run, const Value &value, const Value &begin, const Value &end, const Value &step);
// "tool.function.name", "0": item after item
[[nodiscard]] Value item_at_path(Run &run, Value value, const Value &path);

// Of a text: the characters from the one index to the other.
[[nodiscard]] Value characters_between(Run &run, std::string_view text, size_t begin, size_t end);

[[nodiscard]] Value call_value(Run &run, const Value &callee, const Arguments &arguments);

} // namespace lamina::jinja
