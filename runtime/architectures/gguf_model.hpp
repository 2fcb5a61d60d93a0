// Reads a GGUF file as a model.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace lamina::architectures {

[[nodiscard]] std::shared_ptr<model::Model> read_gguf(const std::filesystem::path &file,
                                                      const std::vector<Adapter> &adapters = {});

} // namespace lamina::architectures
