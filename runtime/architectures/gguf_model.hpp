// Reads a GGUF file as a model.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <memory>

namespace lamina::architectures {

// With a projector (LoadOptions::mmproj), it takes images; Model::no_images says why it takes none.
[[nodiscard]] std::shared_ptr<model::Model> read_gguf(const std::filesystem::path &file,
                                                      const LoadOptions &options = {});

} // namespace lamina::architectures
