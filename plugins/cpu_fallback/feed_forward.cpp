#include "arrays.hpp"
#include "kernels.hpp"
#include "product.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace lamina::plugin::cpu_fallback {
namespace {

class FeedForward {
  public:
    FeedForward(const Call &call, int x_digits)
        : activation_(static_cast<uint32_t>(call.integer("activation") + 1)), // the contract has no LAMINA_NONE
          gated_(static_cast<bool>(call.weight("gate_weight"))), up_(weight_rows(call, "up_weight", x_digits)),
          gate_(gated_ ? weight_rows(call, "gate_weight", x_digits) : WeightRows{}),
          down_(weight_rows(call, "down_weight", x_digits)), up_bias_(call.weight("up_bias")),
          gate_bias_(call.weight("gate_bias")), down_bias_(call.weight("down_bias")), x_(call.in("x")),
          residual_(call.in("residual")), y_(call.out("y")) {}

    void run() const {
        for (int64_t row = 0; row < x_.rows(); row += PackedRows::most) {
            const int64_t count = std::min(PackedRows::most, x_.rows() - row);
            if (!FewRowsFor::suits(up_, count) || !few(row, count)) many(row, count);
        }
    }

  private:
    const uint32_t activation_;
    const bool gated_;
    const WeightRows up_, gate_, down_;
    const Tensor up_bias_, gate_bias_, down_bias_, x_, residual_, y_;

    // False if x has no form for few rows.
    [[nodiscard]] bool few(int64_t row, int64_t rows) const {
        const int64_t cols = up_.rows;
        const float *const tokens = x_.f32().data() + row * up_.values;
        const Matrix hidden(rows, cols), gates(gated_ ? rows : 0, cols);
        const FewRowsFor x(up_, tokens, rows);
        std::optional<FewRowsFor> other; // the gate's weights may have a dtype of their own
        if (gated_ && gate_.dtype != up_.dtype) other.emplace(gate_, tokens, rows);
        if (!x.there() || (other && !other->there())) return false;
        for_parts(up_, rows, [&](int64_t first, int64_t end) {
            x.product(up_, up_bias_, hidden.data(), nullptr, first, end);
            if (gated_) (other ? *other : x).product(gate_, gate_bias_, gates.data(), nullptr, first, end);
            for (int64_t at = first; at < rows * cols; at += cols)
                activate_part(hidden.data() + at, gated_ ? gates.data() + at : nullptr, end - first);
        });
        const int64_t to = row * down_.rows;
        product(rows, hidden.data(), down_, down_bias_, y_.f32().data() + to, residual_from(to));
        return true;
    }

    // Hidden values are never unpacked: what a product leaves is what the next one reads.
    void many(int64_t row, int64_t rows) const {
        const PackedRows x(x_.f32().data() + row * up_.values, rows, up_.values), hidden(rows, up_.rows),
            gates(gated_ ? rows : 0, up_.rows);
        for_tiles(up_, [&](int64_t first, int64_t end) {
            x.product(up_, up_bias_, hidden, first, end);
            if (gated_) x.product(gate_, gate_bias_, gates, first, end);
            for (int64_t p = 0; p < x.panels(); ++p)
                activate_part(hidden.at(p, first), gated_ ? gates.at(p, first) : nullptr, (end - first) * x.columns());
        });
        const int64_t to = row * down_.rows;
        for_tiles(down_, [&](int64_t first, int64_t end) {
            hidden.product(down_, down_bias_, y_.f32().data() + to, residual_from(to), first, end);
        });
    }

    // `hidden` becomes its activation, or its product with that of the gates.
    void activate_part(float *hidden, float *gates, int64_t n) const {
        activate(activation_, gates != nullptr ? gates : hidden, n);
        if (gates != nullptr) std::transform(hidden, hidden + n, gates, hidden, std::multiplies<>());
    }

    [[nodiscard]] const float *residual_from(int64_t at) const {
        return residual_ ? residual_.f32().data() + at : nullptr;
    }
};

} // namespace

template <int XDigits> void feed_forward(const Call &call) { FeedForward(call, XDigits).run(); }
template void feed_forward<1>(const Call &call);
template void feed_forward<2>(const Call &call);
template void feed_forward<3>(const Call &call);

} // namespace lamina::plugin::cpu_fallback
