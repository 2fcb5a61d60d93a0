// Dropout at inference: the identity. README.md says why it is a layer all the same.
#include <lamina/plugin.hpp>

#include "dropout.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Dropout {
    static constexpr auto id = "dropout";
    static constexpr auto summary = "x: dropout does nothing at inference";
    static constexpr auto source = "Srivastava et al.: Dropout, JMLR 15 (2014), p. 1929";

    static constexpr std::array params{
        real("p", "the probability that training drops an element with", 0.1, 0, 1),
    };
    static constexpr std::array inputs{
        input("x", "...", "any tensor"),
    };
    static constexpr std::array outputs{
        output("y", "...", "x"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a copy, one invocation an element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)};
    static constexpr std::array cases{
        "B=2 T=3", "B=2 T=37 p=0", "B=1 T=1 p=1", "B=3 T=64 p=0.5", "B=5 T=1009",
    };

    static void reference(const Call &call) { std::ranges::copy(call.in("x").f32(), call.out("y").f32().begin()); }

    static void plan(const Call &call, Plan &plan) {
        const int64_t n = call.in("x").size();
        const struct { uint32_t n; } push{u32(n)};
        plan.dispatch(lamina_kernels::dropout, plan.spread(ceil_div(n, 64)), {plan.in("x"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Dropout)
