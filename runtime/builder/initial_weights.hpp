// Makes the initial weights of a model.
#pragma once

#include <lamina/tensor.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lamina::builder {

struct InitialWeight {
    enum class Rule { zeros, ones, xavier_uniform };
    std::string name;
    Shape shape; // (rows, columns) for xavier_uniform
    Rule rule = Rule::zeros;
};

// Matrices in this dtype, vectors in F32. Xavier: uniform in +-sqrt(6 / (rows + columns)), drawn from the seed and the
// name, and the same on every machine.
[[nodiscard]] Tensor make_weight(const InitialWeight &weight, DType dtype, uint64_t seed);

// The memory needed to make all of them, in bytes.
[[nodiscard]] uint64_t memory_for(const std::vector<InitialWeight> &weights, DType dtype);

// Throws Error(memory) if `need` exceeds `have`, the available bytes, if known.
void check_memory(uint64_t need, std::optional<uint64_t> have);

} // namespace lamina::builder
