// Parts of values: value.name, value[index], value[begin:end:step]. A missing part is undefined, as in Jinja.
#pragma once

#include "template/value.hpp"

#include <optional>
#include <string_view>

namespace lamina::jinja {

[[nodiscard]] Value attribute_of(Run &run, const Value &value, std::string_view name); // a method, or else a member
[[nodiscard]] Value item_of(Run &run, const Value &value, const Value &index);         // a member, or else a method
[[nodiscard]] Value slice_of(Run &run, const Value &value, const Value &begin, const Value &end, const Value &step);
// Follows a path: "tool.function.name", "0"
[[nodiscard]] Value item_at_path(Run &run, Value value, const Value &path);

// The characters with indices [begin, end).
[[nodiscard]] Value characters_between(Run &run, std::string_view text, size_t begin, size_t end);

[[nodiscard]] Value call_value(Run &run, const Value &callee, const Arguments &arguments);

} // namespace lamina::jinja
