// JSON laid out for people.
#pragma once

#include "base/json.hpp"

#include <string>

namespace lamina {

// A value that fits into 120 columns is on one line. So is every object of a list, however long: a layer is one line.
// Only objects that end in a list of their own ("repeat") are broken, after its bracket. Keys keep the order in which
// they were added.
[[nodiscard]] std::string readable_json(const Json &value);

} // namespace lamina
