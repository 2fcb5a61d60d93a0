// A causal convolution along the sequence, separately for each channel. Earlier rows are kept in a state. README.md has
// the maths.
#include <lamina/plugin.hpp>

#include "causal_conv.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct CausalConv {
    static constexpr auto id = "causal_conv";
    static constexpr auto summary = "the weighted sum of each channel's last K values";
    static constexpr auto source = "Gu, Dao: Mamba: Linear-Time Sequence Modeling with Selective State Spaces, "
                                   "arXiv:2312.00752, section 3.4";

    static constexpr std::array inputs{
        input("x", "B T C", "rows of a sequence, or its new rows"),
        optional(indices("position", "B", "0 2147483647", "position of a sequence's first row; 0 when left out")),
    };
    static constexpr std::array weights{
        weight("weight", "C K", "for the row K-1 steps back, ..., for the row itself; K is at least 2"),
        optional(weight("bias", "C", "added to the sum; 0 when left out")),
    };
    static constexpr std::array outputs{
        output("y", "B T C", "for each row, the sum over it and the K-1 rows before it"),
    };
    static constexpr std::array states{
        goes_with(state("history", "B K-1 C", nullptr, "the K-1 rows before the next one"), "position"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per value; one per channel to keep the next history")};
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=7 C=96 K=4 +bias",
        "B=3 T=1 C=65 K=4 +position +history weights=f16",
        "B=2 T=2 C=33 K=5 +bias +position +history position=zeros",
        "B=2 T=9 C=16 K=3 +position +history weights=bf16",
    };

    static void check(const Call &call) {
        const int64_t taps = call.weight("weight").cols();
        if (taps < 2) throw Invalid("weight has one column, which only scales each channel; expected at least 2");
        if (taps > most_taps) // an invocation loops over all of them, and some drivers end long loops
            throw Invalid("weight has " + std::to_string(taps) + " columns; expected at most " +
                          std::to_string(most_taps));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), bias = call.weight("bias"), y = call.out("y");
        const Tensor history = call.state("history");
        const int64_t length = x.dim(1), before = weight.cols() - 1;
        for (int64_t b = 0; b < x.dim(0); ++b)
            for (size_t c = 0; c < static_cast<size_t>(x.cols()); ++c) {
                std::vector<float> row; // of the channel: the earlier rows, then the new ones
                for (int64_t i = 0; i < before; ++i)
                    row.push_back(history && has_history(call, b) ? history.row(b * before + i)[c] : 0);
                for (int64_t t = 0; t < length; ++t) row.push_back(x.row(b * length + t)[c]);
                for (int64_t t = 0; t < length; ++t) {
                    double sum = bias ? bias.f32()[c] : 0;
                    for (size_t k = 0; k < static_cast<size_t>(weight.cols()); ++k)
                        sum += static_cast<double>(weight.row(static_cast<int64_t>(c))[k]) *
                               row[static_cast<size_t>(t) + k];
                    y.row(b * length + t)[c] = static_cast<float>(sum);
                }
                for (int64_t i = 0; history && i < before; ++i)
                    history.row(b * before + i)[c] = row[static_cast<size_t>(length + i)];
            }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight");
        const struct {
            uint32_t batch, length, channels, taps;
        } push{u32(x.dim(0)), u32(x.dim(1)), u32(x.cols()), u32(weight.cols())};
        const bool keeps = static_cast<bool>(call.state("history"));
        const lamina_spec has_history{0, keeps}, has_position{1, static_cast<bool>(call.in("position"))};
        // Optional ports that the model leaves out may be bound all the same: the kernel does not read them.
        plan.dispatch(lamina_kernels::causal_conv, plan.spread(ceil_div(x.size(), 64)),
                      {plan.in("x"), plan.in("position"), plan.state("history"), plan.weight("weight"),
                       plan.weight("bias"), plan.out("y")},
                      push, {has_history, has_position, {2, dtype_of(weight)}, {3, dtype_of(call.weight("bias"))}});
        if (keeps) // must come second: it overwrites what the dispatch above reads
            plan.dispatch(lamina_kernels::keep, plan.spread(ceil_div(x.dim(0) * x.cols(), 64)),
                          {plan.in("x"), plan.in("position"), plan.state("history")}, push, {has_position});
    }

  private:
    static constexpr int64_t most_taps = 4096;

    // At position 0 the state still holds the rows of another text.
    static bool has_history(const Call &call, int64_t b) {
        return call.in("position") && call.in("position").i32()[static_cast<size_t>(b)] != 0;
    }
};

} // namespace

LAMINA_PLUGIN(CausalConv)
