// Any model that Lamina reads, as a model folder, with its matrices in another dtype if that is asked for.
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
    // Of matrices, as far as their layers take it; none: each keeps its own. Where a row is no whole number of blocks
    // of 256 values (q4_k, q5_k, q6_k), a format of 32 values takes their place: q5_0, q5_1, q8_0.
    std::optional<DType> weights = {};
    std::function<void(size_t done, size_t all)> progress = {}; // after every weight; may throw to stop
};

struct ConvertedWeight {
    std::string name;
    TensorType from, to;
    // The root of the mean square of what changed in a value, and the most that changed in one. Both are divided by the
    // root of the mean square of the weight.
    double error = 0, worst = 0;
};

struct Conversion {
    ModelDescription model;               // which Runtime::load() takes, too
    std::vector<ConvertedWeight> weights; // all, in the order in which layers take them
};

// Reads what Runtime::load() reads and checks all of it. Throws what that throws, and Error(input) for a weight that
// the dtype cannot hold.
[[nodiscard]] Conversion convert(const Runtime &runtime, const std::filesystem::path &path,
                                 const ConvertOptions &options = {});

} // namespace lamina
