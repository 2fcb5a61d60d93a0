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
    default: // silu
        return each([](float v) { return v / (1 + std::exp(-v)); });
    }
}

} // namespace

void feed_forward(const Call &call) {
    const Tensor up = call.weight("up_weight"), gate = call.weight("gate_weight"), down = call.weight("down_weight");
    const Tensor up_bias = call.weight("up_bias"), gate_bias = call.weight("gate_bias");
    const int64_t rows = call.in("x").rows(), cols = up.rows(), activation = call.integer("activation");
    const float *tokens = call.in("x").f32().data();
    if (activation > silu) throw Unsupported("activation " + std::to_string(activation) + " has no CPU kernel");

    const Matrix hidden(rows, cols), gates(gate ? rows : 0, cols);
    // The columns [first, end) of all rows, when their products are there.
    const auto activate_part = [&](int64_t first, int64_t end) {
        const auto n = static_cast<size_t>(end - first);
        for (int64_t r = 0; r < rows; ++r) {
            const std::span<float> h(hidden.data() + r * cols + first, n);
            if (!gate) {
                activate(activation, h);
                continue;
            }
            const std::span<float> g(gates.data() + r * cols + first, n);
            activate(activation, g);
            std::ranges::transform(h, g, h.begin(), std::multiplies<>());
        }
    };
    if (FewRows::suits(rows, up) && (!gate || FewRows::suits(rows, gate))) {
        const FewRows x(tokens, rows, up.cols());
        for_parts(up, [&](int64_t first, int64_t end) {
            x.product(up, up_bias, hidden.data(), nullptr, first, end);
            if (gate) x.product(gate, gate_bias, gates.data(), nullptr, first, end);
            activate_part(first, end);
        });
    } else {
        product(rows, tokens, up, up_bias, hidden.data());
        if (gate) product(rows, tokens, gate, gate_bias, gates.data());
        activate_part(0, cols);
    }
    const Tensor added = call.in("residual");
    product(rows, hidden.data(), down, call.weight("down_bias"), call.out("y").f32().data(),
            added ? added.f32().data() : nullptr);
}

} // namespace lamina::plugin::cpu_fallback
