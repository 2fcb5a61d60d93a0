// --lora: adapters that are merged into a model when it is loaded.
#pragma once

#include "arguments.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

void add_lora_option(const Arguments &app, std::vector<std::string> &given);

// "ADAPTER" or "ADAPTER=SCALE", each. Throws Error(usage).
[[nodiscard]] LoadOptions load_options(const std::vector<std::string> &given);

} // namespace lamina::cli
