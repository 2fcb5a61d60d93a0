#include "arrays.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace lamina::plugin::cpu_fallback {

void feed_forward(const Call &call) {
    const Tensor up = call.weight("up_weight"), gate = call.weight("gate_weight"), down = call.weight("down_weight");
    const Tensor up_bias = call.weight("up_bias"), gate_bias = call.weight("gate_bias");
    const int64_t rows = call.in("x").rows(), cols = up.rows();
    const auto activation = static_cast<uint32_t>(call.integer("activation") + 1); // the contract has no LAMINA_NONE
    const float *tokens = call.in("x").f32().data();

    const Matrix hidden(rows, cols), gates(gate ? rows : 0, cols);
    // The columns [first, end) of a row, when their products are there.
    const auto activate_part = [&](int64_t row, int64_t first, int64_t end) {
        float *const h = hidden.data() + row * cols, *const g = gate ? gates.data() + row * cols : h;
        activate(activation, g + first, end - first);
        if (gate) std::transform(h + first, h + end, g + first, h + first, std::multiplies<>());
    };
    if (FewRowsFor::suits(rows)) {
        const FewRowsFor x(up.dtype(), tokens, rows, up.cols());
        std::optional<FewRowsFor> other; // the gate's weights may have a dtype of their own
        if (gate && gate.dtype() != up.dtype()) other.emplace(gate.dtype(), tokens, rows, up.cols());
        const FewRowsFor &for_gate = other ? *other : x;
        for_parts(stored_rows(up), [&](int64_t first, int64_t end) {
            x.product(stored_rows(up), up_bias, hidden.data(), nullptr, first, end);
            if (gate) for_gate.product(stored_rows(gate), gate_bias, gates.data(), nullptr, first, end);
            for (int64_t row = 0; row < rows; ++row) activate_part(row, first, end);
        });
    } else {
        product(rows, tokens, up, up_bias, hidden.data());
        if (gate) product(rows, tokens, gate, gate_bias, gates.data());
        in_ranges(rows, part_values / cols + 1, [&](int64_t first, int64_t end) {
            for (int64_t row = first; row < end; ++row) activate_part(row, 0, cols);
        });
    }
    const Tensor added = call.in("residual");
    product(rows, hidden.data(), down, call.weight("down_bias"), call.out("y").f32().data(),
            added ? added.f32().data() : nullptr);
}

} // namespace lamina::plugin::cpu_fallback
