// Reads and checks the JSON header of a safetensors file.
#pragma once

#include <lamina/tensor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

struct SafetensorsHeader {
    struct Tensor {
        std::string name, dtype; // dtype as the format writes it: "F32", "F8_E4M3"
        Shape shape;
        uint64_t begin = 0, end = 0; // in the data after the header
    };
    std::vector<Tensor> tensors; // in the order of their data, which has no holes
    std::map<std::string, std::string, std::less<>> metadata;

    // `data_bytes` is the length of the file after the header. Throws Error(input); the message begins with `file`.
    static SafetensorsHeader parse(std::string_view text, uint64_t data_bytes, const std::string &file);
};

} // namespace lamina::model
