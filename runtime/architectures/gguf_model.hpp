// Reads a GGUF file as a model.
#pragma once

#include "model/model.hpp"

#include <filesystem>
#include <memory>

namespace lamina::architectures {

[[nodiscard]] std::shared_ptr<model::Model> read_gguf(const std::filesystem::path &file);

} // namespace lamina::architectures
