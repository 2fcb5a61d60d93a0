// y = 2 x, with variants that are right only if memory that they should not read contains zeros, or NaN.
#include <lamina/plugin.hpp>

#include "careless.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Careless {
    static constexpr auto id = "careless", summary = "2 x", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::array outputs{output("y", "... C", "2 x")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("right"),
        variant("largest", "not below what was in y before", 0),
        variant("smallest", "not above it", 0),
        variant("sum", "added to it", 0),
        variant("beyond", "reads behind x", 0),
        variant("unbound", "binds nothing to y", 0),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1", "B=2 T=3 C=37"};

    static void reference(const Call &call) {
        const auto x = call.in("x").f32(), y = call.out("y").f32();
        for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<float>(2.0 * x[i]);
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct { uint32_t size, fault; } push{u32(x.size()), plan.variant};
        if (plan.variant == 5) return plan.dispatch(lamina_kernels::careless, {1}, {plan.in("x")}, push);
        plan.dispatch(lamina_kernels::careless, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Careless)
