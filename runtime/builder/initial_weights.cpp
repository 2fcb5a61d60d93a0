#include "builder/initial_weights.hpp"

#include "base/binary_size.hpp"
#include "base/random.hpp"
#include "base/storage.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::builder {
namespace {

// IEEE 754 defines the result of every rounding here, so all machines compute the same weights.
Tensor xavier_uniform(const InitialWeight &weight, DType dtype, uint64_t seed) {
    Random random(seed, weight.name);
    const double limit = std::sqrt(6.0 / static_cast<double>(weight.shape.at(0) + weight.shape.at(1)));
    Tensor out(TensorType{DType::f32, weight.shape});
    for (float &v : out.f32()) v = static_cast<float>(limit * (2 * random.unit() - 1));
    return narrowed(out, dtype);
}

} // namespace

Tensor make_weight(const InitialWeight &weight, DType dtype, uint64_t seed) {
    if (weight.rule == InitialWeight::Rule::xavier_uniform) return xavier_uniform(weight, dtype, seed);
    Tensor out(TensorType{DType::f32, weight.shape});
    if (weight.rule == InitialWeight::Rule::ones) std::ranges::fill(out.f32(), 1.0F);
    return out;
}

uint64_t memory_for(const std::vector<InitialWeight> &weights, DType dtype) {
    uint64_t all = 0, largest = 0; // the largest in F32, which exists until it is narrowed
    for (const InitialWeight &weight : weights) {
        const bool narrow = weight.rule == InitialWeight::Rule::xavier_uniform && dtype != DType::f32;
        const uint64_t wide = TensorType{DType::f32, weight.shape}.bytes();
        all += narrow ? TensorType{dtype, weight.shape}.bytes() : wide;
        if (narrow) largest = std::max(largest, wide);
    }
    return all + largest;
}

void check_memory(uint64_t need, std::optional<uint64_t> have) {
    if (!have || need <= *have) return;
    throw Error(ErrorCode::memory, "the weights need " + binary_size(need) + ", " + binary_size(*have) +
                                       " are free; build a smaller model");
}

} // namespace lamina::builder
