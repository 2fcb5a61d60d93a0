// Opens a model in any format: a Lamina model folder, a Hugging Face folder or name, or a GGUF file.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace lamina::architectures {

// Weights are mapped into memory, not converted, but those that adapters change, which are made when they are read.
// `described`: folders with files that describe architectures of Hugging Face folders (described.hpp), before those
// that Lamina knows. Throws Error(input) with the file, the place in it, what was expected and what was found.
[[nodiscard]] std::shared_ptr<model::Model> open(const std::filesystem::path &given, const LoadOptions &options = {},
                                                 const std::vector<std::filesystem::path> &described = {});

} // namespace lamina::architectures
