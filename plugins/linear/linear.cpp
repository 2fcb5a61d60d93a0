// Linear: y = x Wᵀ + b + residual over the last axis. README.md has the maths.
#include <lamina/plugin/product.hpp>

#include "linear.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Linear {
    static constexpr auto id = "linear";
    static constexpr auto summary = "x * transpose(weight) + bias + residual, over the last axis";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.4";

    static constexpr std::array inputs{
        input("x", "... K", "rows of K values"),
        optional(input("residual", "... N", "added to the result")),
    };
    static constexpr std::array weights{
        in_blocks(weight("weight", "N K", "one row for each output value")),
        optional(weight("bias", "N", "added to the product; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... N", "rows of N values")),
    };

    static constexpr auto work = "2*K";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr auto variants = product_variants;
    static constexpr std::array tolerances{
        tolerance(1e-5, 4e-6), // 4e-6: for rows whose few sums all cancel
        tolerance(2e-3, 1e-3, LAMINA_F16),
        tolerance(1e-1, 1e-2, LAMINA_Q8_0), // models have values that make all others of their block inexact
    };
    static constexpr std::array cases{
        "B=1 T=1 K=1 N=1 +bias",
        "B=1 T=1 K=64 N=127 +bias weights=f16",
        "B=2 T=37 K=113 N=131 +bias",
        "B=2 T=37 K=113 N=131 +bias weights=f16",
        "B=3 T=5 K=61 N=65 weights=bf16",
        "B=4 T=16 K=128 N=128 +bias",
        "B=5 T=13 K=68 N=63 +bias weights=bf16",
        "B=1 T=7 K=260 N=129 weights=f16 weight=small",
        "B=2 T=65 K=768 N=97 +bias",
        "B=3 T=43 K=67 N=29 +bias x=one_hot",
        "B=1 T=9 K=96 N=33 +bias weights=f16 x=huge",
        "B=1 T=2 K=2048 N=5 +bias x=offset",
        "B=2 T=19 K=36 N=67 +bias +residual weights=f16",
        "B=1 T=3 K=33 N=130 +residual",
        "B=2 T=37 K=96 N=131 +bias weights=q8_0",
        "B=1 T=9 K=96 N=131 weights=q8_0 weight=one_hot",
        "B=1 T=3 K=32 N=7 weights=q8_0 weight=small",
        "B=1 T=9 K=96 N=67 weights=q4_0",
        "B=1 T=3 K=160 N=9 +bias weights=q4_1",
        "B=1 T=1 K=64 N=9 weights=q4_1 weight=small",
        "B=1 T=37 K=96 N=33 weights=q5_0",
        "B=1 T=1 K=64 N=9 weights=q5_0 weight=small",
        "B=1 T=2 K=64 N=11 weights=q5_1",
        "B=1 T=1 K=64 N=9 weights=q5_1 weight=small",
        "B=1 T=9 K=512 N=35 weights=q4_k",
        "B=1 T=9 K=256 N=67 weights=q4_k weight=one_hot",
        "B=1 T=3 K=256 N=7 weights=q5_k",
        "B=1 T=1 K=256 N=9 weights=q5_k weight=small",
        "B=2 T=9 K=256 N=67 +bias weights=q6_k",
        "B=1 T=1 K=96 N=9 weights=q4_0 weight=small",
        "B=1 T=1 K=512 N=7 weights=q4_k weight=small",
        "B=1 T=1 K=512 N=9 weights=q6_k",
        "B=1 T=4 K=256 N=7 weights=q6_k weight=small",
        "B=1 T=9 K=512 N=35 weights=q2_k",
        "B=1 T=1 K=512 N=7 weights=q2_k",
        "B=1 T=4 K=256 N=7 weights=q2_k weight=small",
        "B=1 T=9 K=512 N=35 +bias weights=q3_k",
        "B=1 T=1 K=512 N=7 weights=q3_k",
        "B=1 T=4 K=256 N=7 weights=q3_k weight=small",
        "B=1 T=9 K=96 N=67 weights=iq4_nl",
        "B=1 T=1 K=96 N=9 weights=iq4_nl weight=small",
        "B=1 T=9 K=512 N=35 weights=iq4_xs",
        "B=1 T=1 K=512 N=7 weights=iq4_xs weight=small",
        "B=1 T=9 K=512 N=35 weights=i8_k",
        "B=1 T=9 K=512 N=35 weights=i4_k",
        "B=1 T=1 K=512 N=7 weights=i4_k weight=spread",
        "B=1 T=20 K=256 N=40 weights=i4_k weight=spread",
        "B=1 T=1 K=512 N=7 weights=i8_k",
        "B=1 T=4 K=256 N=7 weights=i8_k",
        "B=1 T=131 K=36 N=66 +bias +residual weights=f16", // tiles of 128 x 128
        "B=2 T=65 K=67 N=129 weights=bf16",
        "B=1 T=129 K=256 N=66 +bias weights=q4_k",
        "B=1 T=17 K=517 N=133 +bias +residual", // K in parts
        "B=3 T=11 K=1028 N=65 weights=f16",
        "B=1 T=5 K=2304 N=35 +bias +residual weights=q4_k",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            const std::vector<double> row = product_reference(x.row(r), call.weight("weight"), call.weight("bias"));
            for (size_t n = 0; n < row.size(); ++n)
                y.row(r)[n] = static_cast<float>(row[n] + (residual ? residual.row(r)[n] : 0.0));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        plan_product(call, plan, lamina_kernels::product,
                     {.rows = call.in("x").rows(),
                      .x = plan.in("x"),
                      .weight = "weight",
                      .bias = "bias",
                      .y = plan.out("y"),
                      .combine = call.in("residual") ? Combine::add : Combine::none,
                      .z = plan.in("residual")});
    }
};

} // namespace

LAMINA_PLUGIN(Linear)
