// What transformers makes of changed model files, and the files themselves. make.py wrote digests/.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace differential {

using Json = nlohmann::ordered_json;

struct Digest {
    std::string name;
    Json config, tensors; // of the files before changes; {name: [shape, dtype, center, spread, name of the values]}
    Json results;         // {"refused": why} or {output: {"size", "largest", "sample"}}
    Json changes;         // [change, number of its result]
};

[[nodiscard]] Digest read_digest(const std::filesystem::path &file);

// `count` numbers in [-1, 1) that follow from the name, as models.py computes them.
[[nodiscard]] std::vector<double> uniform(const std::string &name, size_t count);

// Writes changed files of a digest's model into a folder.
class Files {
  public:
    Files(const Digest &digest, std::filesystem::path folder);
    void write(const Json &change);

  private:
    const Digest &digest_;
    std::filesystem::path folder_;
    Json stored_; // the tensors that model.safetensors holds
};

} // namespace differential
