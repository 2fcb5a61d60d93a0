// JSON laid out for people.
#pragma once

#include "base/json.hpp"

#include <string>

namespace lamina::builder {

// What fits into 120 columns stands in one line, and so does every object of a list, however long: a layer is a line.
// Only objects of a list that end in a list of their own ("repeat") are broken, behind its bracket. Keys stay in the
// order in which they were added.
[[nodiscard]] std::string readable_json(const Json &value);

} // namespace lamina::builder
