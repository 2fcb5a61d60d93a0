// A fusion: root mean square normalization and the activation after it, in one dispatch. README.md explains it.
#include <lamina/plugin.hpp>

#include "rms_norm_activation.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct RmsNormActivation {
    static constexpr auto id = "rms_norm_activation";
    static constexpr auto summary = "silu of normalized rows";
    static constexpr auto source = "Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv:1910.07467";

    static constexpr auto fuses = R"({
        "layers": [
            {"name": "norm", "type": "rms_norm", "inputs": {"x": "x"}, "weights": {"weight": "weight"},
             "params": {"eps": "eps"}},
            {"name": "active", "type": "activation", "inputs": {"x": "norm"}, "params": {"activation": "silu"}}
        ],
        "outputs": {"y": "active"}
    })";

    static constexpr std::array params{real("eps", "added to the mean square", 1e-6, 0, 1)};
    static constexpr std::array inputs{input("x", "... C", "rows to normalize")};
    static constexpr std::array weights{optional(weight("weight", "C", "scale; without it, rows are not scaled"))};
    static constexpr std::array outputs{by_rows(output("y", "... C", "activated rows"))};

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("one workgroup per row")};
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=1 T=1 C=1 +weight",
        "B=2 T=3 C=160 +weight weights=f16",
        "B=2 T=5 C=37 eps=1e-5",
    };

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct {
            uint32_t rows, cols;
            float eps;
        } push{u32(x.rows()), u32(x.cols()), static_cast<float>(call.real("eps"))};
        plan.dispatch(lamina_kernels::rms_norm_activation, plan.spread(x.rows()),
                      {plan.in("x"), plan.weight("weight"), plan.out("y")}, push,
                      {{0, dtype_of(call.weight("weight"))}});
    }
};

} // namespace

LAMINA_PLUGIN(RmsNormActivation)
