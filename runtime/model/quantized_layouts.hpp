// Where the files of each method of quantization have integers, zeros and scales of a matrix. `module`: its name
// without ".weight". All throw Error(input) for tensors that are absent, or of other dtypes or shapes than the
// method's.
#pragma once

#include "model/quantized_matrix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lamina::model {

// Columns of a row that share a scale, by the settings of a method; -1: all of them.
using GroupSize = int64_t;

// GPTQ (github.com/ModelCloud/GPTQModel; AutoGPTQ): qweight (K * bits / 32, N), qzeros (G, N * bits / 32), scales (G,
// N), and g_idx (K), the group of each column, which may be in any order ("act-order"). Integers of 2, 3, 4 or 8 bits
// follow each other from the lowest bit on, those of qweight along K.
struct Gptq {
    int bits = 4;
    GroupSize group = 128;
    bool zeros_less_one = true; // the file has zeros minus 1: the checkpoint_format "gptq"; not "gptq_v2"
};
[[nodiscard]] QuantizedMatrix gptq_matrix(const Weights &weights, const std::string &module, const Gptq &settings);

// AWQ (github.com/casper-hansen/AutoAWQ, version "gemm"): qweight (K, N / 8), qzeros (G, N / 8), scales (G, N). A word
// has eight integers of 4 bits, columns 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits on.
[[nodiscard]] QuantizedMatrix awq_matrix(const Weights &weights, const std::string &module, GroupSize group);

// What the groups of a compressed-tensors config say: which of them a matrix is of follows from the shapes.
struct PackedGroups {
    std::vector<int> bits{};
    std::vector<GroupSize> groups{};
};
// compressed-tensors, "pack-quantized": weight_packed (N, K * bits / 32), weight_scale, weight_shape (2); for zeros
// weight_zero_point (N * bits / 32, G), for columns in any order weight_g_idx (K). Integers have 2, 4 or 8 bits and
// are stored plus half of their range.
[[nodiscard]] QuantizedMatrix packed_matrix(const Weights &weights, const std::string &module,
                                            const PackedGroups &settings);

// compressed-tensors, "int-quantized" and "naive-quantized": weight (N, K) of bytes, weight_scale, maybe
// weight_zero_point of the same shape.
[[nodiscard]] QuantizedMatrix byte_matrix(const Weights &weights, const std::string &module,
                                          const PackedGroups &settings);

} // namespace lamina::model
