// The tensors of a state_dict, as torch.save() pickles it, over storages that are found elsewhere in the file.
#pragma once

#include "model/pickle.hpp"
#include "model/weights.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lamina::model {

// What such a pickle may refer to: classes of storages, and the functions that make tensors of them.
[[nodiscard]] bool is_of_torch_tensors(std::string_view global);

// Where the bytes of a storage are. `bytes`: how many it must have.
using FindStorage = std::function<std::span<const std::byte>(const std::string &key, uint64_t bytes)>;

// What an entry of a state_dict refers to: its key, and how many values it has of how many bytes each.
struct TorchStorage {
    std::string key;
    std::string_view dtype; // "F32", as safetensors calls it
    int64_t values = 0, value_bytes = 1;
};
[[nodiscard]] TorchStorage torch_storage(const Pickle &pickle, Pickle::Ref id);

// `owner` keeps the storages alive. Throws Error(input) for anything but a dict of names and tensors.
[[nodiscard]] Weights torch_tensors(const Pickle &pickle, const FindStorage &find,
                                    const std::shared_ptr<const void> &owner, Weights empty);

} // namespace lamina::model
