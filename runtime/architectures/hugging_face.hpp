// Reads a Hugging Face folder: config.json, weights in one or more files of safetensors or PyTorch and, for sentence
// embeddings, modules.json (sentence-transformers).
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace lamina::architectures {

// `described`: folders with files that describe architectures. A model that reads texts without its part for images is
// read for texts alone if that part is not supported, or missing; Model::no_images then says why.
[[nodiscard]] std::shared_ptr<model::Model> read_hugging_face(const std::filesystem::path &folder,
                                                              const std::vector<Adapter> &adapters,
                                                              const std::vector<std::filesystem::path> &described);

} // namespace lamina::architectures
