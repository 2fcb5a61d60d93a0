// The feed-forward layer of a transformer block, plain or gated. README.md has the maths.
#include <lamina/plugin/product.hpp>

#include "feed_forward.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct FeedForward {
    static constexpr auto id = "feed_forward";
    static constexpr auto summary = "down(act(up(x))) + residual, or gated: down(act(gate(x)) * up(x)) + residual";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.3; gated: "
                                   "Shazeer: GLU Variants Improve Transformer, arXiv:2002.05202";

    static constexpr std::array params{activation_param};
    static constexpr std::array inputs{
        input("x", "... C", "tokens"),
        optional(input("residual", "... C", "added to the result")),
    };
    static constexpr std::array weights{
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
    static constexpr auto variants = product_variants;
    static constexpr std::array tolerances{
        tolerance(2e-5, 2e-6), tolerance(2e-3, 1e-3, LAMINA_F16),
        tolerance(1e-1, 1e-2, LAMINA_Q8_0), // models have values that make all others of their block inexact
    };
    static constexpr std::array cases{
        "B=1 T=1 C=1 H=1 +up_bias +down_bias",
        "B=2 T=9 C=64 H=256 activation=relu +up_bias +down_bias +residual",
        "B=2 T=9 C=64 H=256 activation=gelu +up_bias +down_bias +residual weights=f16",
        "B=1 T=17 C=37 H=131 activation=gelu_tanh +up_bias +down_bias",
        "B=3 T=5 C=52 H=96 activation=silu +gate_weight",
        "B=3 T=23 C=40 H=129 activation=silu +gate_weight +gate_bias +up_bias +down_bias +residual weights=bf16",
        "B=1 T=3 C=127 H=61 activation=gelu +gate_weight +gate_bias +residual",
        "B=2 T=33 C=192 H=768 activation=gelu +up_bias +down_bias +residual",
        "B=1 T=65 C=63 H=65 activation=relu weights=f16",
        "B=1 T=6 C=32 H=64 activation=gelu +up_bias x=offset",
        "B=1 T=11 C=36 H=48 activation=gelu_tanh +gate_weight x=huge",
        "B=2 T=5 C=36 H=40 activation=sigmoid +gate_weight",
        "B=1 T=9 C=36 H=44 activation=quick_gelu +up_bias +down_bias +residual",
        "B=1 T=2 C=48 H=64 activation=silu +up_bias x=large",
        "B=2 T=9 C=64 H=96 activation=silu +gate_weight +up_bias +residual weights=q8_0",
        "B=1 T=3 C=32 H=96 activation=gelu +down_bias weights=q4_1",
        "B=1 T=9 C=64 H=96 activation=silu +gate_weight weights=q4_0 gate_weight=q5_0 down_weight=q5_1",
        "B=1 T=9 C=256 H=256 activation=silu +gate_weight weights=q4_k gate_weight=q5_k down_weight=q6_k",
        "C=4352 H=256 activation=silu +gate_weight +gate_bias weights=f32 gate_weight=q4_k", // parts of few rows
        "B=1 T=67 C=68 H=130 activation=gelu +gate_weight +down_bias +residual weights=f16", // tiles of 128 x 128
        "B=1 T=66 C=96 H=96 weights=q8_0",
        "B=1 T=9 C=36 H=516 activation=gelu_tanh +up_bias +down_bias +residual", // K in parts for the second product,
        "B=1 T=9 C=516 H=36 activation=gelu_tanh +up_bias +down_bias +residual", // and for the first
    };

    static void check(const Call &call) {
        if (call.weight("gate_bias") && !call.weight("gate_weight"))
            throw Invalid("gate_bias is given without gate_weight: give both, or leave both out");
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
        const bool gated = static_cast<bool>(call.weight("gate_weight"));
        const Activation activation = activation_of(call);
        for (const int64_t r : call.wanted(y)) {
            std::vector<double> hidden = product_reference(x.row(r), call.weight("up_weight"), call.weight("up_bias"));
            if (gated) {
                const auto gate = product_reference(x.row(r), call.weight("gate_weight"), call.weight("gate_bias"));
                for (size_t h = 0; h < hidden.size(); ++h) hidden[h] *= activate(activation, gate[h]);
            } else {
                for (double &h : hidden) h = activate(activation, h);
            }
            const auto down = product_reference(hidden, call.weight("down_weight"), call.weight("down_bias"));
            for (size_t c = 0; c < down.size(); ++c)
                y.row(r)[c] = static_cast<float>(down[c] + (residual ? residual.row(r)[c] : 0.0));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const int64_t rows = call.in("x").rows(), hidden_bytes = rows * call.weight("up_weight").rows() * 4;
        const bool gated = static_cast<bool>(call.weight("gate_weight"));
        const lamina_ref hidden = plan.scratch(hidden_bytes);

        Product up{.rows = rows,
                   .x = plan.in("x"),
                   .weight = "up_weight",
                   .bias = "up_bias",
                   .y = hidden,
                   .activation = activation_of(call)};
        std::vector<Product> products;
        if (gated) {
            Product gate = up;
            gate.weight = "gate_weight", gate.bias = "gate_bias", gate.y = plan.scratch(hidden_bytes);
            products.push_back(gate);
            up.activation = Activation::none, up.combine = Combine::multiply, up.z = gate.y;
        }
        products.push_back(up);
        products.push_back({.rows = rows,
                            .x = hidden,
                            .weight = "down_weight",
                            .bias = "down_bias",
                            .y = plan.out("y"),
                            .combine = call.in("residual") ? Combine::add : Combine::none,
                            .z = plan.in("residual")});
        plan_products(call, plan, lamina_kernels::product, products);
    }
};

} // namespace

LAMINA_PLUGIN(FeedForward)
