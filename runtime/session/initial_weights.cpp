#include "session/initial_weights.hpp"

#include "session/inputs.hpp"
#include "session/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lamina::session {
namespace {

// Nothing here is rounded but the limit, the product and the result, each of which IEEE 754 rounds in one way.
Tensor xavier_uniform(const InitialWeight &weight, DType dtype, uint64_t seed) {
    Random random(seed, weight.name);
    const double limit = std::sqrt(6.0 / static_cast<double>(weight.shape.at(0) + weight.shape.at(1)));
    const auto draw = [&] { return static_cast<float>(limit * (2 * random.unit() - 1)); };
    Tensor out(TensorType{dtype, weight.shape});
    if (dtype == DType::f32) {
        for (float &v : out.f32()) v = draw();
        return out;
    }
    for (size_t at = 0; at < out.bytes().size(); at += sizeof(uint16_t)) {
        const uint16_t bits = dtype == DType::f16 ? narrow_f16(draw()) : narrow_bf16(draw());
        std::memcpy(&out.bytes()[at], &bits, sizeof bits);
    }
    return out;
}

} // namespace

Tensor make_weight(const InitialWeight &weight, DType dtype, uint64_t seed) {
    if (weight.rule == InitialWeight::Rule::xavier_uniform) return xavier_uniform(weight, dtype, seed);
    Tensor out(TensorType{DType::f32, weight.shape});
    if (weight.rule == InitialWeight::Rule::ones) std::ranges::fill(out.f32(), 1.0F);
    return out;
}

} // namespace lamina::session
