// A draft becomes a model.
#pragma once

#include "architectures/architecture.hpp"
#include "model/model.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace lamina::architectures {

// What the architecture of this name calls its tensors in GGUF. Throws Error(input) where it is not read from there.
[[nodiscard]] std::span<const TensorName> tensor_names(const std::string &model_type, const Config &config);

// Lets the architecture of this name write the draft's graphs, and makes a model of them. Throws Error(input): for an
// architecture that Lamina does not know, with those that it does; for settings that nothing read.
[[nodiscard]] std::shared_ptr<const model::Model> assemble(Draft &draft, const std::string &model_type,
                                                           const std::filesystem::path &path);

} // namespace lamina::architectures
