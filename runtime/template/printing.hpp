// Converts values to text, as {{ }} prints them and as JSON.
#pragma once

#include "base/json_reader.hpp"
#include "template/value.hpp"

#include <optional>
#include <string>

namespace lamina::jinja {

// Python's str(), which uses repr() for the items of lists and dicts.
[[nodiscard]] std::string text_of(Run &run, const Value &value);
void write_value(Run &run, const Value &value);

// Python's json.dumps().
struct JsonStyle {
    std::optional<std::string> indent; // none: on one line
    std::string item_separator = ", ", key_separator = ": ";
    bool sorts_keys = false, ascii_only = false;
};
[[nodiscard]] std::string json_of(Run &run, const Value &value, const JsonStyle &style);
[[nodiscard]] Value value_of_json(Run &run, const JsonView &view);

} // namespace lamina::jinja
