// The safetensors format: u64 length of a JSON header, the header, then the tensors' bytes back to back.
// Refuses what the format's reference implementation refuses (github.com/huggingface/safetensors), and duplicate names.
#pragma once

#include "model/weights.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace lamina::model {

struct Safetensors {
    Weights weights;
    std::map<std::string, std::string, std::less<>> metadata;
};

// Maps the file and checks its whole header. Throws Error(input) with the file, the tensor, what was expected and
// found.
[[nodiscard]] Safetensors open_safetensors(const std::filesystem::path &file);

// Writes tensors (and __metadata__) to a temporary file and renames it. `progress` is called after every tensor and may
// throw. Throws Error(failure), or Error(input) for a name that the format cannot hold.
void write_safetensors(const std::filesystem::path &file, const std::map<std::string, Tensor, std::less<>> &tensors,
                       const std::map<std::string, std::string, std::less<>> &metadata = {},
                       const std::function<void(size_t done, size_t all)> &progress = {});

} // namespace lamina::model
