// A model in memory: the contents of a model folder, without a folder.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace lamina {

// Runtime::load() accepts it like a folder, and the results are the same, bit for bit.
struct ModelDescription {
    std::string name;                                   // used in messages in place of the folder
    std::string json;                                   // model.json
    std::map<std::string, Tensor, std::less<>> weights; // model.safetensors, by tensor name
    // File name -> its text: vocabularies, one token a line, and tokenizers, as tokenizer.json.
    std::map<std::string, std::string, std::less<>> vocabularies;

    // Writes a model folder. If this fails, the folder is as it was before. A folder that is not empty is refused
    // unless `replace` is set. Then its model is replaced, with the vocabularies that its model.json names; other files
    // stay. During the replacement the folder has no model.json, so it loads as the old model, as the new one or not at
    // all, never as a mixture. `progress` is called after every weight. If it throws, saving stops and leaves nothing
    // behind. Throws Error(usage) for a folder that is not empty, Error(failure) if it cannot be written.
    void save(const std::filesystem::path &folder, bool replace = false,
              const std::function<void(size_t done, size_t all)> &progress = {}) const;
};

} // namespace lamina
