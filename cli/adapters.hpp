// --lora: adapters that are merged into a model when it is loaded, or that requests choose.
#pragma once

#include "arguments.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <utility>
#include <vector>

namespace lamina::cli {

void add_lora_option(const Arguments &app, std::vector<std::string> &given);

// "ADAPTER" or "ADAPTER=SCALE", each. Throws Error(usage).
[[nodiscard]] LoadOptions load_options(const std::vector<std::string> &given);

// The same, or "NAME=ADAPTER" and "NAME=ADAPTER=SCALE": one that requests may choose by this name.
struct ServedAdapters {
    LoadOptions merged;
    std::vector<std::pair<std::string, Adapter>> named;
};
[[nodiscard]] ServedAdapters served_adapters(const std::vector<std::string> &given);

} // namespace lamina::cli
