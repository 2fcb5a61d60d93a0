#include "builder/initial_weights.hpp"

#include "base/half.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::builder {
namespace {

// Nothing here is rounded but the limit, the product and the result, each of which IEEE 754 rounds in one way.
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

} // namespace lamina::builder
