#include "kernels.hpp"
#include "product.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace lamina::plugin::cpu_fallback {
namespace {

enum Choice : int64_t { relu, gelu, gelu_tanh, silu }; // the contract's order of activations

void activate(int64_t choice, std::span<float> values) {
    const auto each = [&](auto &&f) { std::ranges::transform(values, values.begin(), f); };
    switch (choice) {
    case relu:
        return each([](float v) { return v < 0 ? 0.0f : v; });
    case gelu:
        return each([](float v) { return v * 0.5f * std::erfc(-v / std::numbers::sqrt2_v<float>); });
    case gelu_tanh: {
        const float scale = std::sqrt(2 / std::numbers::pi_v<float>);
        return each([=](float v) { return v * 0.5f * (1 + std::tanh(scale * (v + 0.044715f * v * v * v))); });
    }
    case silu:
        return each([](float v) { return v / (1 + std::exp(-v)); });
    default:
        throw Unsupported("activation " + std::to_string(choice) + " has no CPU kernel");
    }
}

} // namespace

void feed_forward(const Call &call) {
    const Tensor up = call.weight("up_weight"), gate = call.weight("gate_weight");
    const int64_t rows = call.in("x").rows(), cols = up.rows();
    const float *tokens = call.in("x").f32().data();

    const Matrix hidden(rows, cols);
    const std::span<float> h(hidden.data(), static_cast<size_t>(rows * cols));
    product(rows, tokens, up, call.weight("up_bias"), h.data());
    if (gate) {
        const Matrix gates(rows, cols);
        const std::span<float> g(gates.data(), h.size());
        product(rows, tokens, gate, call.weight("gate_bias"), g.data());
        activate(call.integer("activation"), g);
        std::ranges::transform(h, g, h.begin(), std::multiplies<>());
    } else {
        activate(call.integer("activation"), h);
    }
    const Tensor added = call.in("residual");
    product(rows, h.data(), call.weight("down_weight"), call.weight("down_bias"), call.out("y").f32().data(),
            added ? added.f32().data() : nullptr);
}

} // namespace lamina::plugin::cpu_fallback
