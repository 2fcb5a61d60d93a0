// What transformers makes of changed model files, and the files themselves. make.py wrote digests/.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace differential {

using Json = nlohmann::ordered_json;

struct Digest {
    std::string name;
    Json config, tensors; // of the files before changes; {name: [shape, dtype, center, spread, name of the values]}
    Json results;         // {"refused": why} or {output: {"size", "largest", "sample"}}
    Json changes;         // [change, number of its result]
    std::string hash;     // of the file without changes, in decimal notation; empty for a folder
    Json preprocessor;    // preprocessor_config.json; null: there is none
    Json processor;       // processor_config.json, likewise

    // Of a GGUF file: `config` is its metadata, {key: [type, value]}.
    [[nodiscard]] bool is_gguf() const;
};

[[nodiscard]] Digest read_digest(const std::filesystem::path &file);

// FNV-1a.
[[nodiscard]] uint64_t hash(std::string_view bytes);

// `count` numbers in [-1, 1) that follow from the name, as models.py computes them.
[[nodiscard]] std::vector<double> uniform(const std::string &name, size_t count);

// Writes changed files of a digest's model into a folder.
class Files {
  public:
    Files(const Digest &digest, std::filesystem::path folder);
    // Returns the path of the model: the folder, or a GGUF file in it.
    std::filesystem::path write(const Json &change);

  private:
    const Digest &digest_;
    std::filesystem::path folder_;
    Json stored_; // the tensors that model.safetensors holds
};

} // namespace differential
