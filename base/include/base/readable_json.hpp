// JSON laid out for people.
#pragma once

#include "base/json.hpp"

#include <string>

namespace lamina {

// A value that fits into 120 columns is on one line. So is every object in a list, however long, so that a layer is one
// line. Only objects that end in a list ("repeat") are broken, after its bracket. Keys keep the order in which they
// were added.
[[nodiscard]] std::string readable_json(const Json &value);

} // namespace lamina
