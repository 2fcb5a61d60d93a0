// Root mean square normalization over the last axis, as a project of its own. README.md has the maths.
#include <lamina/plugin.hpp>

#include "rms_norm.kernels.hpp"

#include <cmath>

namespace {
using namespace lamina::plugin;

struct RmsNorm {
    static constexpr auto id = "rms_norm";
    static constexpr auto summary = "x / root mean square of x * weight, over the last axis";
    static constexpr auto source = "Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv:1910.07467";

    static constexpr std::array params{real("eps", "added to the mean square", 1e-6, 0, 1)};
    static constexpr std::array inputs{input("x", "... C", "rows to normalize")};
    static constexpr std::array weights{optional(weight("weight", "C", "scale; 1 when left out"))};
    static constexpr std::array outputs{output("y", "... C", "normalized rows")};

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("one workgroup of 64 a row")};
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{"B=2 T=3 C=160 +weight", "B=1 T=5 C=37", "B=1 T=1 C=1 +weight weights=f16"};

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        for (int64_t r = 0; r < x.rows(); ++r) {
            const auto in = x.row(r), out = y.row(r);
            double square = 0;
            for (const double v : in) square += v * v / static_cast<double>(x.cols());
            const double scale = 1 / std::sqrt(square + call.real("eps"));
            for (size_t c = 0; c < in.size(); ++c)
                out[c] = static_cast<float>(in[c] * scale * (weight ? weight.f32()[c] : 1.0));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct {
            uint32_t rows, cols;
            float eps;
        } push{u32(x.rows()), u32(x.cols()), static_cast<float>(call.real("eps"))};
        plan.dispatch(lamina_kernels::rms_norm, plan.spread(x.rows()),
                      {plan.in("x"), plan.weight("weight"), plan.out("y")}, push,
                      {{0, dtype_of(call.weight("weight"))}});
    }
};

} // namespace

LAMINA_PLUGIN(RmsNorm)
