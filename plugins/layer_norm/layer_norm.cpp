// Layer normalization over the last axis, with optional scale and offset. README.md has the maths.
#include <lamina/plugin.hpp>

#include "layer_norm.kernels.hpp"

#include <cmath>

namespace {
using namespace lamina::plugin;

struct LayerNorm {
    static constexpr auto id = "layer_norm";
    static constexpr auto summary = "(x - mean) / sqrt(variance + eps) * weight + bias + residual, over the last axis";
    static constexpr auto source = "Ba, Kiros, Hinton: Layer Normalization, arXiv:1607.06450";

    static constexpr std::array params{
        real("eps", "added to the variance", 1e-5, 0, 1),
    };
    static constexpr std::array inputs{
        input("x", "... C", "rows to normalize"),
        optional(input("residual", "... C", "added to the normalized rows")),
    };
    static constexpr std::array weights{
        optional(weight("weight", "C", "scale; 1 when left out")),
        optional(weight("bias", "C", "offset; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C", "normalized rows")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one workgroup of 64 per row, centred two-pass"),
        variant("subgroup", "sums by subgroups first", subgroup_sums),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=3 C=160 +weight +bias", "B=1 T=2 C=768 eps=1e-6 +weight +bias weights=f16",
        "B=3 T=5 C=64 +weight",        "B=2 T=2 C=257 +weight +bias weights=bf16 x=offset",
        "B=1 T=3 C=1 eps=1e-3 +bias",  "B=2 T=3 C=129 +weight +bias +residual weights=f16",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
        const Tensor weight = call.weight("weight"), bias = call.weight("bias");
        const double eps = call.real("eps");
        const auto n = static_cast<double>(x.cols());
        for (const int64_t r : call.wanted(y)) {
            const auto in = x.row(r), out = y.row(r);
            double mean = 0, variance = 0;
            for (const double v : in) mean += v / n;
            for (const double v : in) variance += (v - mean) * (v - mean) / n;
            const double deviation = std::sqrt(variance + eps);
            const auto added = residual ? residual.row(r) : std::span<float>();
            for (size_t c = 0; c < in.size(); ++c) {
                const double normal = (in[c] - mean) / deviation;
                out[c] = static_cast<float>(normal * (weight ? weight.f32()[c] : 1.0) + (bias ? bias.f32()[c] : 0.0) +
                                            (added.empty() ? 0.0 : added[c]));
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct {
            uint32_t rows, cols;
            float eps;
        } push{u32(x.rows()), u32(x.cols()), static_cast<float>(call.real("eps"))};
        const auto kernel = plan.variant == 0 ? lamina_kernels::layer_norm : lamina_kernels::layer_norm_subgroup;
        plan.dispatch(kernel, plan.spread(x.rows()),
                      {plan.in("x"), plan.weight("weight"), plan.weight("bias"), plan.in("residual"), plan.out("y")},
                      push,
                      {{0, dtype_of(call.weight("weight"))},
                       {1, dtype_of(call.weight("bias"))},
                       {2, static_cast<bool>(call.in("residual"))}});
    }
};

} // namespace

LAMINA_PLUGIN(LayerNorm)
