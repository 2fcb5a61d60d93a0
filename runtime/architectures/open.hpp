// Models as people have them: a Lamina folder, a Hugging Face folder, a GGUF file.
#pragma once

#include "model/model.hpp"

#include <filesystem>
#include <memory>

namespace lamina::architectures {

// Weights are mapped, never converted. Throws Error(input): which file, where in it, what was expected and found.
[[nodiscard]] std::shared_ptr<const model::Model> open(const std::filesystem::path &path);

} // namespace lamina::architectures
