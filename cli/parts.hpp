// How a model is split among devices, as `lamina inspect` shows it.
#pragma once

#include "output.hpp"

#include "base/json.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

[[nodiscard]] std::string parts_as_text(const std::vector<Session::Part> &parts, const Output &output);
[[nodiscard]] Json parts_as_json(const std::vector<Session::Part> &parts);

} // namespace lamina::cli
