// y = x as integers: a layer whose output another layer might use as an index.
#include <lamina/plugin.hpp>

#include "index_of.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct IndexOf {
    static constexpr auto id = "index_of", summary = "x as whole numbers", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::array outputs{lamina_port{"y", "x", "... C", nullptr, nullptr, nullptr, LAMINA_I32, 0}};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("right")};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1"};

    static void reference(const Call &call) {
        const auto x = call.in("x").f32();
        const auto y = call.out("y").i32();
        for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<int32_t>(x[i]);
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        plan.dispatch(lamina_kernels::index_of, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, u32(x.size()));
    }
};

} // namespace

LAMINA_PLUGIN(IndexOf)
