// The weights of a Hugging Face folder.
#pragma once

#include "model/weights.hpp"

#include <filesystem>

namespace lamina::model {

// The first of these that the folder has: model.safetensors, model.safetensors.index.json and the files that it names,
// pytorch_model.bin, pytorch_model.bin.index.json and its files. Throws Error(input), also if a tensor is in two of
// these files, or not in the one that the index names for it.
[[nodiscard]] Weights open_weights_folder(const std::filesystem::path &folder);

} // namespace lamina::model
