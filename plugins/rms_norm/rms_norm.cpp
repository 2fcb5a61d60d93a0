// Root mean square normalization over the last axis, or over equal parts of it. README.md has the maths.
#include <lamina/plugin.hpp>

#include "rms_norm.kernels.hpp"

#include <cmath>

namespace {
using namespace lamina::plugin;

struct RmsNorm {
    static constexpr auto id = "rms_norm";
    static constexpr auto summary =
        "x / root mean square of x * (weight_offset + weight) + residual, over the last axis";
    static constexpr auto source = "Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv:1910.07467";

    static constexpr std::array params{
        real("eps", "added to the mean square", 1e-6, 0, 1),
        integer("groups", "parts of a row that are normalized separately, such as the heads of queries", 1, 1),
        integer("weight_groups", "parts of the weight: 1, which all groups share, or one for each group", 1, 1),
        real("weight_offset", "added to the weight: 1 in Gemma, whose files store weight - 1", 0, -1e6, 1e6),
    };
    static constexpr std::array inputs{
        input("x", "... groups*C", "rows to normalize"),
        optional(input("residual", "... groups*C", "added to the normalized rows")),
    };
    static constexpr std::array weights{
        optional(weight("weight", "weight_groups*C", "scale; without it rows are not scaled")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... groups*C", "normalized rows")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one workgroup of 64 per group"),
        variant("subgroup", "sums by subgroups first", subgroup_sums),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=3 C=160 +weight",
        "B=1 T=2 C=768 eps=1e-5 +weight weights=f16",
        "B=2 T=5 C=64 groups=3 weight_offset=1 +weight weights=bf16",
        "B=1 T=3 C=37 groups=2",
        "B=2 T=2 C=257 +weight x=offset",
        "B=1 T=1 C=1 eps=0 +weight",
        "B=2 T=3 C=129 weight_offset=1 +weight +residual weights=bf16",
        "B=1 T=5 C=33 groups=3 +residual",
        "B=2 T=3 C=96 groups=4 weight_groups=4 eps=1e-5 +weight +residual weights=f16",
    };

    static void check(const Call &call) {
        const int64_t groups = call.integer("groups"), of_weight = call.integer("weight_groups");
        if (of_weight != 1 && of_weight != groups)
            throw Invalid("weight_groups must be 1 or as many as groups, " + std::to_string(groups) + ": found " +
                          std::to_string(of_weight));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
        const Tensor weight = call.weight("weight");
        const double eps = call.real("eps"), offset = call.real("weight_offset");
        const std::span<const float> factors = weight.f32(); // empty: left out
        const auto cols = static_cast<size_t>(x.cols() / call.integer("groups"));
        const auto weight_cols = static_cast<size_t>(call.integer("weight_groups")) * cols;
        for (const int64_t r : call.wanted(y)) {
            const auto row = x.row(r), added = residual ? residual.row(r) : std::span<float>();
            for (size_t first = 0; first < row.size(); first += cols) {
                const auto in = row.subspan(first, cols), out = y.row(r).subspan(first, cols);
                double square = 0;
                for (const double v : in) square += v * v;
                const double scale = 1 / std::sqrt(square / static_cast<double>(cols) + eps);
                for (size_t c = 0; c < cols; ++c)
                    out[c] = static_cast<float>(
                        in[c] * scale * (factors.empty() ? 1.0 : offset + factors[(first + c) % weight_cols]) +
                        (added.empty() ? 0.0 : added[first + c]));
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const int64_t cols = call.in("x").cols() / call.integer("groups"), rows = call.in("x").size() / cols;
        const struct {
            uint32_t rows, cols, weight_groups;
            float eps, weight_offset;
        } push{u32(rows), u32(cols), u32(call.integer("weight_groups")), static_cast<float>(call.real("eps")),
               static_cast<float>(call.real("weight_offset"))};
        plan.dispatch(plan.variant == 0 ? lamina_kernels::rms_norm : lamina_kernels::rms_norm_subgroup,
                      plan.spread(rows), {plan.in("x"), plan.weight("weight"), plan.in("residual"), plan.out("y")},
                      push, {{0, dtype_of(call.weight("weight"))}, {1, static_cast<bool>(call.in("residual"))}});
    }
};

} // namespace

LAMINA_PLUGIN(RmsNorm)
