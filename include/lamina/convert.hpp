// Converts any model that Lamina reads to a model folder, optionally with its matrices in another dtype.
//
//     const lamina::Conversion made = lamina::convert(runtime, "SmolLM2.gguf", {.weights = lamina::DType::q8_0});
//     made.model.save("smollm2");
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

struct ConvertOptions {
    // The dtype of matrices whose layers accept it; none: all keep their own. If rows are not a multiple of 256 values,
    // a format with blocks of 32 replaces that with blocks of 256: q5_0 replaces q4_k, q5_1 q5_k, q8_0 q6_k and i8_k,
    // and iq4_nl i4_k and those of fewer bits.
    std::optional<DType> weights = {};
    std::vector<Adapter> adapters = {};                         // merged into the weights
    std::filesystem::path mmproj = {};                          // as in LoadOptions
    std::function<void(size_t done, size_t all)> progress = {}; // after every weight; may throw to stop
};

struct ConvertedWeight {
    std::string name;
    TensorType from, to;
    // The root mean square of the changes of values, and the largest change. Both are relative to the root mean square
    // of the weight.
    double error = 0, worst = 0;
};

struct Conversion {
    ModelDescription model;               // Runtime::load() accepts it, too
    std::vector<ConvertedWeight> weights; // in the order in which layers use them
};

// Reads and validates a model like Runtime::load(), and throws the same errors. Also throws Error(input) for a weight
// that the dtype cannot represent.
[[nodiscard]] Conversion convert(const Runtime &runtime, const std::filesystem::path &path,
                                 const ConvertOptions &options = {});

} // namespace lamina
