// Weights changed by products of narrow matrices, as adapters have them (Hu et al.: LoRA: Low-Rank Adaptation of Large
// Language Models, arXiv:2106.09685).
#pragma once

#include "model/weights.hpp"

#include <vector>

namespace lamina::model {

// A matrix of f32, f16 or bf16, or its transpose.
struct NarrowMatrix {
    Weight weight;
    bool transposed = false;
    [[nodiscard]] int64_t rows() const { return weight.type.shape.at(transposed ? 1 : 0); }
    [[nodiscard]] int64_t columns() const { return weight.type.shape.at(transposed ? 0 : 1); }
};

// scale * left * right: a matrix (N, R) and one (R, K).
struct LowRank {
    NarrowMatrix left, right;
    double scale = 1;
};

// What Weight::changed says: `changes` are none if an adapter replaced the tensor.
struct LowRankSum {
    Weight matrix;
    std::vector<LowRank> changes;
};

// A change of these rows of a matrix as two matrices for layers of their own: x * down^T * up^T is added to what the
// unchanged rows give. down (R, K), up (N, R).
struct Factors {
    Weight down, up;
};
// Of a weight that with_low_ranks() made, or of rows of it; none for any other.
[[nodiscard]] std::vector<Factors> factors_of(const Weight &weight);

// A matrix plus these, computed in double and rounded once, to f32; made when it is first read. All have its shape.
[[nodiscard]] Weight with_low_ranks(const Weight &matrix, const std::vector<LowRank> &changes);

} // namespace lamina::model
