// A model in memory: what a model folder holds, before there is a folder or without one.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace lamina {

// Runtime::load() takes one as it takes a folder, and computes the same from either, bit for bit.
struct ModelDescription {
    std::string name;                                             // stands for the folder in messages
    std::string json;                                             // model.json
    std::map<std::string, Tensor, std::less<>> weights;           // model.safetensors, by tensor name
    std::map<std::string, std::string, std::less<>> vocabularies; // file name -> its text, one token a line

    // Writes a model folder, which afterwards is whole or as it was. A folder with anything in it is refused unless
    // `replace` is set; its model is then replaced, vocabularies that its model.json names included, and other files in
    // it stay. While that goes on it has no model.json: it loads as the old model, the new one or not at all, never as
    // a mixture.
    // `progress` is called after every weight; what it throws ends the work, and nothing is left of it.
    // Throws Error(usage) for a folder that is not empty, Error(failure) when it cannot be written.
    void save(const std::filesystem::path &folder, bool replace = false,
              const std::function<void(size_t done, size_t all)> &progress = {}) const;
};

} // namespace lamina
