// Root mean square normalization and the feed-forward layer after it, in two dispatches. README.md says what it saves.
#include "rms_norm_feed_forward.kernels.hpp"

#include "joint.hpp"

namespace {
using namespace lamina::plugin;

struct RmsNormFeedForward {
    static constexpr auto id = "rms_norm_feed_forward";
    static constexpr auto summary = "the feed-forward layer of normalized rows: feed_forward(rms_norm(x)) + residual";
    static constexpr auto source = "Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv:1910.07467; Shazeer: "
                                   "GLU Variants Improve Transformer, arXiv:2002.05202";

    static constexpr auto fuses = R"({
        "layers": [
            {"name": "norm", "type": "rms_norm", "inputs": {"x": "x"}, "weights": {"weight": "norm_weight"},
             "params": {"eps": "eps", "weight_offset": "weight_offset"}},
            {"name": "hidden", "type": "feed_forward", "inputs": {"x": "norm", "residual": "residual"},
             "params": {"activation": "activation"},
             "weights": {"up_weight": "up_weight", "up_bias": "up_bias", "gate_weight": "gate_weight",
                         "gate_bias": "gate_bias", "down_weight": "down_weight", "down_bias": "down_bias"}}
        ],
        "outputs": {"y": "hidden"}
    })";

    static constexpr std::array params{
        real("eps", "added to the mean square", 1e-6, 0, 1),
        real("weight_offset", "added to the norm's weight: 1 in Gemma, whose files store weight - 1", 0, -1e6, 1e6),
        activation_param,
    };
    static constexpr std::array inputs{
        input("x", "... C", "rows to normalize"),
        optional(input("residual", "... C", "added to the result")),
    };
    static constexpr std::array weights{
        optional(weight("norm_weight", "C", "scale of the norm; without it, rows are not scaled")),
        in_blocks(weight("up_weight", "H C", "to the hidden layer")),
        optional(weight("up_bias", "H", "added to the hidden layer's product; 0 when left out")),
        in_blocks(
            optional(weight("gate_weight", "H C", "to the gate; when given, the activation is applied to the gate"))),
        optional(weight("gate_bias", "H", "added to the gate's product; 0 when left out")),
        in_blocks(weight("down_weight", "C H", "back to the tokens")),
        optional(weight("down_bias", "C", "added to the result; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C", "tokens")),
    };

    static constexpr auto work = "4*H gate_weight:2*H";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr auto variants = joint::variants;
    static constexpr std::array tolerances{tolerance(2e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 T=1 C=4 H=4 +norm_weight +up_bias +down_bias",
        "B=2 T=3 C=64 H=256 activation=relu +norm_weight +up_bias +down_bias +residual",
        "B=2 T=4 C=64 H=256 activation=gelu weight_offset=1 +norm_weight +up_bias +down_bias +residual weights=f16",
        "B=1 T=17 C=36 H=132 activation=gelu_tanh +up_bias +down_bias",
        "B=1 T=5 C=52 H=96 activation=silu +norm_weight +gate_weight",
        "B=3 T=23 C=40 H=128 activation=silu +norm_weight +gate_weight +gate_bias +up_bias +down_bias +residual "
        "weights=bf16",
        "B=1 T=3 C=128 H=60 activation=gelu eps=1e-5 +gate_weight +gate_bias +residual",
        "B=1 T=6 C=32 H=64 activation=gelu +norm_weight +up_bias x=offset",
        "B=1 T=2 C=64 H=96 activation=silu +norm_weight +gate_weight +up_bias +residual weights=q8_0 norm_weight=f32",
        "B=1 T=9 C=64 H=96 activation=silu +gate_weight weights=q4_0 gate_weight=q5_0 down_weight=q5_1",
        "B=1 T=1 C=256 H=256 activation=silu +norm_weight +gate_weight weights=q4_k norm_weight=f32 gate_weight=q5_k "
        "down_weight=q6_k",
        "B=1 T=2 C=36 H=4352 activation=gelu_tanh +norm_weight +gate_weight +down_bias +residual",
        "B=1 T=1 C=32 H=2304 activation=silu +gate_weight weights=q4_0",
        "B=1 T=3 C=36 H=48 activation=gelu_tanh +norm_weight +gate_weight x=huge",
    };

    static void plan(const Call &call, Plan &plan) {
        const int64_t rows = call.in("x").rows();
        const bool gated = static_cast<bool>(call.weight("gate_weight"));
        const lamina_ref hidden = plan.scratch(rows * call.weight("up_weight").rows() * 4);
        const std::array matrices{joint::Matrix{"gate_weight", "gate_bias", hidden},
                                  joint::Matrix{"up_weight", "up_bias", hidden}};
        joint::plan(call, plan, plan.in("x"), rows, std::span(matrices).subspan(gated ? 0 : 1),
                    {.norm = true,
                     .factors = "norm_weight",
                     .eps = call.real("eps"),
                     .weight_offset = call.real("weight_offset"),
                     .gated = gated,
                     .activation = activation_of(call)});
        const joint::Matrix down{"down_weight", "down_bias", plan.out("y")};
        joint::plan(call, plan, hidden, rows, {&down, 1},
                    {.add = static_cast<bool>(call.in("residual")), .z = plan.in("residual")});
    }
};

} // namespace

LAMINA_PLUGIN(RmsNormFeedForward)
