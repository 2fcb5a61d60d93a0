// Dropout at inference: the identity, plus an optional residual. README.md says why it is still a layer.
#include <lamina/plugin.hpp>

#include "dropout.kernels.hpp"

#include <algorithm>
#include <functional>

namespace {
using namespace lamina::plugin;

struct Dropout {
    static constexpr auto id = "dropout";
    static constexpr auto summary = "x + residual: dropout does nothing at inference";
    static constexpr auto source = "Srivastava et al.: Dropout, JMLR 15 (2014), p. 1929";

    static constexpr std::array params{
        real("p", "the probability with which training drops an element", 0.1, 0, 1),
    };
    static constexpr std::array inputs{
        input("x", "...", "any tensor"),
        optional(input("residual", "...", "added to the result")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "...", "x, or x + residual")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // every device rounds a sum of two floats correctly
    static constexpr std::array cases{
        "B=2 T=3", "B=2 T=37 p=0", "B=1 T=1 p=1", "B=3 T=64 p=0.5", "B=5 T=1009", "B=3 T=37 +residual",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            if (residual)
                std::ranges::transform(x.row(r), residual.row(r), y.row(r).begin(), std::plus<>());
            else
                std::ranges::copy(x.row(r), y.row(r).begin());
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const int64_t n = call.in("x").size();
        const struct { uint32_t n; } push{u32(n)};
        plan.dispatch(lamina_kernels::dropout, plan.spread(ceil_div(n, 64)),
                      {plan.in("x"), plan.in("residual"), plan.out("y")}, push,
                      {{0, static_cast<bool>(call.in("residual"))}});
    }
};

} // namespace

LAMINA_PLUGIN(Dropout)
