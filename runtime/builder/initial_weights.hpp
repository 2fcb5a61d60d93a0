// The weights that a new model begins with.
#pragma once

#include <lamina/tensor.hpp>

#include <cstdint>
#include <string>

namespace lamina::builder {

struct InitialWeight {
    enum class Rule { zeros, ones, xavier_uniform };
    std::string name;
    Shape shape; // (rows, columns) for xavier_uniform
    Rule rule = Rule::zeros;
};

// Matrices in this dtype, vectors in F32. Xavier: even in +-sqrt(6 / (rows + columns)), drawn from the seed and the
// name, and the same on every machine.
[[nodiscard]] Tensor make_weight(const InitialWeight &weight, DType dtype, uint64_t seed);

} // namespace lamina::builder
