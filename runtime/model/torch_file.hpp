// Files of torch.save() with the weights of a model, such as pytorch_model.bin: since PyTorch 1.6 a zip file of a
// pickle and the bytes of each storage; before, a sequence of pickles with these bytes behind them.
// (pytorch, torch/serialization.py.) No code of a file runs: see pickle.hpp.
#pragma once

#include "model/weights.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace lamina::model {

// Maps the file. Tensors that share a storage share its bytes. Throws Error(input) with the file, the place in it, what
// was expected and found.
[[nodiscard]] Weights open_torch_file(const std::filesystem::path &file);
// The same for bytes in memory, which `owner` keeps alive; messages begin with `file`.
[[nodiscard]] Weights parse_torch_file(std::span<const std::byte> bytes, const std::shared_ptr<const void> &owner,
                                       const std::filesystem::path &file);

} // namespace lamina::model
