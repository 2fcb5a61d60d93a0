// Turns a draft into a model.
#pragma once

#include "architectures/architecture.hpp"
#include "model/model.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace lamina::architectures {

// The architecture that GGUF files call `name`; `has`: whether the file has a setting above 0. Throws Error(input) if
// none is read from GGUF; `config`: for its place.
[[nodiscard]] const Architecture &
architecture_of_gguf(const std::string &name, const std::function<bool(std::string_view)> &has, const Config &config);

// The architecture of this name, or the one that `description` describes. Throws Error(input) for an unknown one.
[[nodiscard]] const Architecture &architecture_of(const std::string &model_type, const Config &config,
                                                  const Description *description = nullptr);

// Builds the draft's graphs with the architecture of this name, and makes a model of them. Throws Error(input) for an
// unknown architecture (the message lists the known ones) and for settings that the architecture did not read.
[[nodiscard]] std::shared_ptr<model::Model> assemble(Draft &draft, const std::string &model_type,
                                                     const std::filesystem::path &path);

} // namespace lamina::architectures
