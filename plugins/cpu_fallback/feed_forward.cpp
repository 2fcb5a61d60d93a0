#include "feed_forward.hpp"

#include "arrays.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace lamina::plugin::cpu_fallback {

void FeedForward::run(const float *x, int64_t rows, float *y, const float *residual) const {
    for (int64_t row = 0; row < rows; row += PackedRows::most) {
        const int64_t count = std::min(PackedRows::most, rows - row), to = row * down.rows;
        const float *const from = x + row * up.values, *const added = residual == nullptr ? nullptr : residual + to;
        if (!FewRowsFor::suits(up, count) || !few(from, count, y + to, added)) many(from, count, y + to, added);
    }
}

// False if x has no form for few rows.
bool FeedForward::few(const float *tokens, int64_t rows, float *y, const float *residual) const {
    const int64_t cols = up.rows;
    const Matrix hidden(rows, cols), gates(gated ? rows : 0, cols);
    const FewRowsFor x(up, tokens, rows);
    std::optional<FewRowsFor> other; // the gate's weights may have a dtype of their own
    if (gated && gate.dtype != up.dtype) other.emplace(gate, tokens, rows);
    if (!x.there() || (other && !other->there())) return false;
    // If either is in strips, parts begin where strips do.
    for_parts(gated && in_strips(gate.dtype) ? gate : up, rows, [&](int64_t first, int64_t end) {
        x.product(up, up_bias, hidden.data(), nullptr, first, end);
        if (gated) (other ? *other : x).product(gate, gate_bias, gates.data(), nullptr, first, end);
        for (int64_t at = first; at < rows * cols; at += cols)
            activate_part(hidden.data() + at, gated ? gates.data() + at : nullptr, end - first);
    });
    product(rows, hidden.data(), down, down_bias, y, residual);
    return true;
}

// Hidden values are never unpacked: what a product leaves is what the next one reads.
void FeedForward::many(const float *tokens, int64_t rows, float *y, const float *residual) const {
    const PackedRows x(tokens, rows, up.values), hidden(rows, up.rows), gates(gated ? rows : 0, up.rows);
    for_tiles(up, [&](int64_t first, int64_t end) {
        x.product(up, up_bias, hidden, first, end);
        if (gated) x.product(gate, gate_bias, gates, first, end);
        for (int64_t p = 0; p < x.panels(); ++p)
            activate_part(hidden.at(p, first), gated ? gates.at(p, first) : nullptr, (end - first) * x.columns());
    });
    for_tiles(down, [&](int64_t first, int64_t end) { hidden.product(down, down_bias, y, residual, first, end); });
}

// `hidden` becomes its activation, or its product with that of the gates.
void FeedForward::activate_part(float *hidden, float *gates, int64_t n) const {
    float *const activated = gates != nullptr ? gates : hidden;
    if (limit > 0) {
        std::transform(activated, activated + n, activated, [&](float v) { return v > limit ? limit : v; });
        std::transform(hidden, hidden + n, hidden, [&](float v) {
            return v > limit ? limit : v < -limit ? -limit : v;
        });
    }
    if (alpha != 1) std::transform(activated, activated + n, activated, [&](float v) { return v * alpha; });
    activate(activation, activated, n);
    if (alpha != 1) std::transform(activated, activated + n, activated, [&](float v) { return v / alpha; });
    if (offset != 0) std::transform(hidden, hidden + n, hidden, [&](float v) { return v + offset; });
    if (gates != nullptr) std::transform(hidden, hidden + n, gates, hidden, std::multiplies<>());
}

template <int XDigits> void feed_forward(const Call &call) {
    const bool gated = static_cast<bool>(call.weight("gate_weight"));
    const FeedForward layer{.activation = static_cast<uint32_t>(call.integer("activation") + 1), // no LAMINA_NONE
                            .gated = gated,
                            .up = weight_rows(call, "up_weight", XDigits),
                            .gate = gated ? weight_rows(call, "gate_weight", XDigits) : WeightRows{},
                            .down = weight_rows(call, "down_weight", XDigits),
                            .up_bias = call.weight("up_bias"),
                            .gate_bias = call.weight("gate_bias"),
                            .down_bias = call.weight("down_bias")};
    const Tensor x = call.in("x"), residual = call.in("residual");
    layer.run(x.f32().data(), x.rows(), call.out("y").f32().data(), residual ? residual.f32().data() : nullptr);
}
template void feed_forward<1>(const Call &call);
template void feed_forward<2>(const Call &call);
template void feed_forward<3>(const Call &call);

} // namespace lamina::plugin::cpu_fallback
