// What Lamina makes of a model's files: numbers, or why it refuses them.
#pragma once

#include "digest.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace differential {

struct Verdict {
    std::map<std::string, std::vector<float>> outputs; // without what follows the end of a text
    std::string refused;                               // Error(input); empty if there are outputs
    std::string broken;                                // any other exception
    std::string no_images = {};                        // why a folder that should see was read for texts alone
};

// Reads models in the folder and runs them on the references. Files of which Lamina makes the same graphs and weights
// as before are not run again.
class Reader {
  public:
    Reader(const lamina::Runtime &runtime, std::filesystem::path folder);
    [[nodiscard]] Verdict read(const std::filesystem::path &model);

  private:
    lamina::Runtime runtime_;
    lamina::Device device_;
    std::filesystem::path folder_;
    std::map<std::string, std::map<std::string, std::vector<float>>> known_; // by graphs and weights

    [[nodiscard]] std::map<std::string, std::vector<float>> run(const lamina::Model &model);
};

} // namespace differential
