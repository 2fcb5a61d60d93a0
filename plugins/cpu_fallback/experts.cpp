// The experts of a mixture. Tokens are sorted by expert, so that each of these reads its matrices once.
#include "feed_forward.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

// A row of a stack of biases; left out if the stack is.
class BiasOf {
  public:
    BiasOf(const Tensor &stack, int64_t expert) {
        if (!stack) return;
        tensor_.dtype = stack.dtype(), tensor_.rank = 1, tensor_.dim[0] = stack.cols();
        tensor_.data = const_cast<std::byte *>(stack.stored_row(expert)); // only read, whatever the ABI's pointers say
    }
    [[nodiscard]] Tensor tensor() const { return Tensor(tensor_); }

  private:
    lamina_tensor tensor_{};
};

class Experts {
  public:
    Experts(const Call &call, int x_digits)
        : call_(call), gated_(static_cast<bool>(call.weight("gate_weight"))),
          up_(weight_rows(call, "up_weight", x_digits)),
          gate_(gated_ ? weight_rows(call, "gate_weight", x_digits) : WeightRows{}),
          down_(weight_rows(call, "down_weight", x_digits)) {}

    void run() const {
        const Tensor x = call_.in("x"), shares = call_.in("shares"), residual = call_.in("residual"),
                     y = call_.out("y");
        const int64_t per_token = shares.cols(), cols = y.cols();
        if (residual)
            std::ranges::copy(residual.f32(), y.f32().begin());
        else
            std::ranges::fill(y.f32(), 0.0F);
        std::vector<std::vector<int64_t>> pairs(
            static_cast<size_t>(call_.weight("up_weight").dim(0))); // of each expert
        const std::span<const int32_t> experts = call_.in("experts").i32();
        for (size_t pair = 0; pair < experts.size(); ++pair)
            pairs[static_cast<size_t>(experts[pair])].push_back(static_cast<int64_t>(pair));
        for (size_t e = 0; e < pairs.size(); ++e) {
            const auto count = static_cast<int64_t>(pairs[e].size());
            if (count == 0) continue;
            const Matrix tokens(count, x.cols()), results(count, cols);
            for (int64_t i = 0; i < count; ++i)
                std::ranges::copy(x.row(pairs[e][static_cast<size_t>(i)] / per_token), tokens.data() + i * x.cols());
            run_expert(static_cast<int64_t>(e), tokens, count, results);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t pair = pairs[e][static_cast<size_t>(i)];
                const float share = shares.f32()[static_cast<size_t>(pair)];
                const std::span<float> to = y.row(pair / per_token);
                std::transform(to.begin(), to.end(), results.data() + i * cols, to.begin(),
                               [&](float sum, float result) { return sum + share * result; });
            }
        }
    }

  private:
    const Call &call_;
    const bool gated_;
    const WeightRows up_, gate_, down_;

    void run_expert(int64_t e, const Matrix &tokens, int64_t count, const Matrix &results) const {
        const BiasOf up_bias(call_.weight("up_bias"), e), gate_bias(call_.weight("gate_bias"), e),
            down_bias(call_.weight("down_bias"), e);
        const auto own = [&](const WeightRows &stack, const char *name) {
            const int64_t rows = call_.weight(name).dim(1);
            return part_of(stack, e * rows, (e + 1) * rows);
        };
        const FeedForward layer{.activation = static_cast<uint32_t>(call_.integer("activation") + 1), // no LAMINA_NONE
                                .gated = gated_,
                                .up = own(up_, "up_weight"),
                                .gate = gated_ ? own(gate_, "gate_weight") : WeightRows{},
                                .down = own(down_, "down_weight"),
                                .up_bias = up_bias.tensor(),
                                .gate_bias = gate_bias.tensor(),
                                .down_bias = down_bias.tensor(),
                                .alpha = static_cast<float>(call_.real("alpha")),
                                .limit = static_cast<float>(call_.real("limit")),
                                .offset = static_cast<float>(call_.real("offset"))};
        layer.run(tokens.data(), count, results.data(), nullptr);
    }
};

} // namespace

template <int XDigits> void experts(const Call &call) { Experts(call, XDigits).run(); }
template void experts<1>(const Call &call);
template void experts<2>(const Call &call);
template void experts<3>(const Call &call);

} // namespace lamina::plugin::cpu_fallback
