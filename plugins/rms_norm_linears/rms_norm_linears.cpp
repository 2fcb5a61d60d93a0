// Root mean square normalization, and three products of the normalized rows, in one dispatch. README.md says what it
// saves.
#include "rms_norm_linears.kernels.hpp"

#include "joint.hpp"

namespace {
using namespace lamina::plugin;

struct RmsNormLinears {
    static constexpr auto id = "rms_norm_linears";
    static constexpr auto summary =
        "three products of the same rows, normalized: rms_norm(x) * transpose(weight) + bias";
    static constexpr auto source = "Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv:1910.07467";

    static constexpr auto fuses = R"({
        "layers": [
            {"name": "norm", "type": "rms_norm", "inputs": {"x": "x"}, "weights": {"weight": "norm_weight"},
             "params": {"eps": "eps", "weight_offset": "weight_offset"}},
            {"name": "query", "type": "linear", "inputs": {"x": "norm"},
             "weights": {"weight": "q_weight", "bias": "q_bias"}},
            {"name": "key", "type": "linear", "inputs": {"x": "norm"},
             "weights": {"weight": "k_weight", "bias": "k_bias"}},
            {"name": "value", "type": "linear", "inputs": {"x": "norm"},
             "weights": {"weight": "v_weight", "bias": "v_bias"}}
        ],
        "outputs": {"q": "query", "k": "key", "v": "value"}
    })";

    static constexpr std::array params{
        real("eps", "added to the mean square", 1e-6, 0, 1),
        real("weight_offset", "added to the norm's weight: 1 in Gemma, whose files store weight - 1", 0, -1e6, 1e6),
    };
    static constexpr std::array inputs{
        input("x", "... K", "rows to normalize"),
    };
    static constexpr std::array weights{
        optional(weight("norm_weight", "K", "scale of the norm; without it, rows are not scaled")),
        in_blocks(weight("q_weight", "Nq K", "one row for each value of q")),
        optional(weight("q_bias", "Nq", "added to q; 0 when left out")),
        in_blocks(weight("k_weight", "Nk K", "one row for each value of k")),
        optional(weight("k_bias", "Nk", "added to k; 0 when left out")),
        in_blocks(weight("v_weight", "Nv K", "one row for each value of v")),
        optional(weight("v_bias", "Nv", "added to v; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("q", "... Nq", "rows of the first product, such as queries")),
        by_rows(output("k", "... Nk", "rows of the second, such as keys")),
        by_rows(output("v", "... Nv", "rows of the third, such as values")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr auto variants = joint::variants;
    static constexpr std::array tolerances{tolerance(1e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 T=1 K=64 Nq=127 Nk=5 Nv=1 +norm_weight +q_bias",
        "B=2 T=3 K=112 Nq=131 Nk=33 Nv=35 eps=1e-5 +norm_weight +q_bias +k_bias +v_bias weights=f16",
        "B=1 T=8 K=2048 Nq=9 Nk=3 Nv=7 weight_offset=1 +norm_weight +k_bias weights=bf16 norm_weight=f32",
        "B=1 T=1 K=96 Nq=130 Nk=66 Nv=67 +norm_weight weights=q4_0 norm_weight=f32 v_weight=q8_0",
        "B=1 T=5 K=256 Nq=35 Nk=9 Nv=9 weights=q4_k v_weight=q6_k",
        "B=2 T=37 K=68 Nq=65 Nk=33 Nv=31 +norm_weight +v_bias",
        "B=1 T=17 K=64 Nq=65 Nk=33 Nv=31 weights=q5_1",
        "B=1 T=7 K=260 Nq=3 Nk=129 Nv=129 +norm_weight x=one_hot",
        "B=1 T=2 K=2048 Nq=5 Nk=4 Nv=3 +q_bias x=offset",
        "B=1 T=1 K=64 Nq=64 Nk=64 Nv=64 eps=0 +norm_weight weights=q4_1 norm_weight=f16 x=huge",
    };

    static void plan(const Call &call, Plan &plan) {
        const std::array matrices{joint::Matrix{"q_weight", "q_bias", plan.out("q")},
                                  joint::Matrix{"k_weight", "k_bias", plan.out("k")},
                                  joint::Matrix{"v_weight", "v_bias", plan.out("v")}};
        joint::plan(call, plan, plan.in("x"), call.in("x").rows(), matrices,
                    {.norm = true,
                     .factors = "norm_weight",
                     .eps = call.real("eps"),
                     .weight_offset = call.real("weight_offset")});
    }
};

} // namespace

LAMINA_PLUGIN(RmsNormLinears)
