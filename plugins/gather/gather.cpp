// Takes rows of a tensor in another order, or again. README.md has the maths.
#include <lamina/plugin.hpp>

#include "gather.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Gather {
    static constexpr auto id = "gather";
    static constexpr auto summary = "rows of a tensor by their numbers, such as those of the windows of an image";
    static constexpr auto source = "Bai et al.: Qwen2.5-VL Technical Report, arXiv:2502.13923, section 2.1.1 (windows)";

    static constexpr std::array inputs{
        input("x", "B T C", "rows"),
        indices("rows", "W S", "0 B*T", "numbers of rows of x, counted through all sequences"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "W S C", "these rows")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=5 C=7 W=3 S=4",
        "B=1 T=1 C=1 W=1 S=1",
        "B=1 T=37 C=33 W=7 S=9",
        "B=3 T=17 C=64 W=1 S=51",
        "B=1 T=9 C=130 W=5 S=2 rows=max",
        "B=2 T=3 C=5 W=2 S=70 rows=zeros",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), rows = call.in("rows"), y = call.out("y");
        for (const int64_t r : call.wanted(y))
            std::ranges::copy(x.row(rows.i32()[static_cast<size_t>(r)]), y.row(r).begin());
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor y = call.out("y");
        const struct {
            uint32_t size, columns; // elements: of y, of a row
        } push{u32(y.size()), u32(y.cols())};
        plan.dispatch(lamina_kernels::gather, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.in("rows"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Gather)
