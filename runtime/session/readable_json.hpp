// JSON laid out for people.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace lamina::session {

// What fits into a line of 120 columns stands in one, the keys in the order in which they were added. Strings are
// UTF-8.
[[nodiscard]] std::string readable_json(const nlohmann::ordered_json &value);

} // namespace lamina::session
