// Takes the last rows of each sequence off. README.md has the maths.
#include <lamina/plugin.hpp>

#include "cut.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Cut {
    static constexpr auto id = "cut";
    static constexpr auto summary = "each sequence in two: its last rows, such as those of an image, and the others";
    static constexpr auto source = "Huang et al.: LayoutLMv3, arXiv:2204.08387, section 2.1";

    static constexpr std::array params{
        required(integer("count", "how many rows of a sequence are its last ones", 1, 1, 1048576)),
    };
    static constexpr std::array inputs{
        input("x", "B T+count C", "sequences"),
    };
    static constexpr std::array outputs{
        by_rows(output("first", "B T C", "all but the last rows of each")),
        by_rows(output("last", "B count C", "the last rows of each")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 C=5 count=1",   "B=1 T=1 C=1 count=1",   "B=3 T=7 C=33 count=2",
        "B=2 T=5 C=130 count=4", "B=2 T=1 C=9 count=196", "B=1 T=37 C=64 count=37",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), first = call.out("first"), last = call.out("last");
        const int64_t kept = first.dim(1), taken = last.dim(1);
        for (const int64_t r : call.wanted(first))
            std::ranges::copy(x.row(r / kept * (kept + taken) + r % kept), first.row(r).begin());
        for (const int64_t r : call.wanted(last))
            std::ranges::copy(x.row(r / taken * (kept + taken) + kept + r % taken), last.row(r).begin());
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), first = call.out("first"), last = call.out("last");
        const struct {
            uint32_t size, of_first, of_last; // elements: of x, and of a sequence
        } push{u32(x.size()), u32(first.dim(1) * first.cols()), u32(last.dim(1) * last.cols())};
        plan.dispatch(lamina_kernels::cut, plan.spread(ceil_div(x.size(), 64)),
                      {plan.in("x"), plan.out("first"), plan.out("last")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Cut)
