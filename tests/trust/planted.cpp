// y = 2 x, with a variant that is wrong from row 1500 on. A table that nothing reads makes the reference seem to take
// long, as that of a large product does.
#include <lamina/plugin.hpp>

#include "planted.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Planted {
    static constexpr auto id = "planted", summary = "2 x", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::array weights{weight("table", "N K", "is not read")};
    static constexpr std::array outputs{by_rows(output("y", "... C", "2 x"))};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("right"), variant("fast", "wrong", 0)};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1 N=1 K=1", "B=2 T=3 C=37 N=1 K=1"};

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), y = call.out("y");
        for (const int64_t r : call.wanted(y))
            std::ranges::transform(x.row(r), y.row(r).begin(), [](float v) { return 2 * v; });
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct {
            uint32_t size, cols, wrong_from;
        } push{u32(x.size()), u32(x.size()), plan.variant == 0 ? u32(x.size()) : u32(1500 * x.cols())};
        plan.dispatch(lamina_kernels::doubling, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, push,
                      {{0, 0}});
    }
};

} // namespace

LAMINA_PLUGIN(Planted)
