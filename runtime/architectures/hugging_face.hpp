// Reads a Hugging Face folder: config.json, weights in one or more files of safetensors or PyTorch and, for sentence
// embeddings, modules.json (sentence-transformers).
#pragma once

#include "model/model.hpp"

#include <filesystem>
#include <memory>

namespace lamina::architectures {

[[nodiscard]] std::shared_ptr<model::Model> read_hugging_face(const std::filesystem::path &folder);

} // namespace lamina::architectures
