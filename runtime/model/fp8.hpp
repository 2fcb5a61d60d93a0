// Matrices of FP8, e4m3: a sign, four bits of exponent and three of mantissa (Micikevicius et al.: FP8 Formats for Deep
// Learning, arXiv:2209.05433), which share scales.
#pragma once

#include "model/weights.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace lamina::model {

struct Fp8 {
    std::string scale; // the name of the tensor of scales
    // Rows and columns of a block that shares a scale; none: as many as there are scales make of the matrix.
    struct Block {
        int64_t rows, columns;
    };
    std::optional<Block> block{};
    DType dtype = DType::f32; // to which each product, in f32, is rounded
};

// Tensor `name` (N, K) times its scales, made when it is first read. There is one scale, one for each row, or one for
// each block, in F32, F16 or BF16. Throws Error(input) for tensors that are absent, or of other dtypes or shapes.
[[nodiscard]] Weight fp8_matrix(const Weights &weights, const std::string &name, const Fp8 &settings);

// The number that a byte stands for.
[[nodiscard]] float widen_e4m3(uint8_t byte);

} // namespace lamina::model
