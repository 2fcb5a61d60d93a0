// How a model is loaded: --lora, adapters that are merged into it or that requests choose, and --mmproj, its projector.
#pragma once

#include "arguments.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lamina::cli {

struct LoadArguments {
    std::vector<std::string> lora; // "ADAPTER" or "ADAPTER=SCALE", each
    std::filesystem::path mmproj;
};

void add_load_options(const Arguments &app, LoadArguments &given);
void add_mmproj_option(const Arguments &app, std::filesystem::path &given);

// Throws Error(usage).
[[nodiscard]] LoadOptions load_options(const LoadArguments &given);

// The same, or "NAME=ADAPTER" and "NAME=ADAPTER=SCALE": one that requests may choose by this name.
struct ServedAdapters {
    LoadOptions merged;
    std::vector<std::pair<std::string, Adapter>> named;
};
[[nodiscard]] ServedAdapters served_adapters(const LoadArguments &given);

} // namespace lamina::cli
