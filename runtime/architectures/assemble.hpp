// Turns a draft into a model.
#pragma once

#include "architectures/architecture.hpp"
#include "model/model.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace lamina::architectures {

// Throws Error(input) for a config.json of an unknown architecture (the message lists the known ones), or of quantized
// weights. To be called before anything else is read, because such a model may have other files, too.
void refuse_unsupported(const Config &config);

// The names of this architecture's tensors in GGUF files. Throws Error(input) if it cannot be read from GGUF.
[[nodiscard]] std::span<const TensorName> tensor_names(const std::string &model_type, const Config &config);

// Throws Error(input) for an unknown architecture.
[[nodiscard]] const Architecture &architecture_of(const std::string &model_type, const Config &config);

// Builds the draft's graphs with the architecture of this name, and makes a model of them. Throws Error(input) for an
// unknown architecture (the message lists the known ones) and for settings that the architecture did not read.
[[nodiscard]] std::shared_ptr<const model::Model> assemble(Draft &draft, const std::string &model_type,
                                                           const std::filesystem::path &path);

} // namespace lamina::architectures
