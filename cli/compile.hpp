// lamina check --compile: what a device's compiler makes of the kernels.
#pragma once

#include "output.hpp"

#include <lamina/compile.hpp>

#include <filesystem>

namespace lamina::cli {

// Prints it, for the layers' cases, or for the steps of a model if there is one. Returns the exit status.
int compile(CompileOptions options, const std::filesystem::path &model, const Runtime &runtime, const Device &device,
            Output &output);

} // namespace lamina::cli
