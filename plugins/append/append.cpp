// Puts the rows of other sequences behind those of each sequence. README.md has the maths.
#include <lamina/plugin.hpp>

#include "append.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Append {
    static constexpr auto id = "append";
    static constexpr auto summary = "the rows of each sequence, then those of another, such as an image beside a text";
    static constexpr auto source = "Huang et al.: LayoutLMv3, arXiv:2204.08387, section 2.1";

    static constexpr std::array inputs{
        input("x", "B T C", "sequences"),
        input("other", "B N C", "what comes behind each of them"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T+N C", "x, then the other rows")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 N=1 C=5",   "B=1 T=1 N=1 C=1",   "B=3 T=7 N=2 C=33",
        "B=2 T=5 N=4 C=130", "B=2 T=1 N=196 C=9", "B=1 T=37 N=37 C=64",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), other = call.in("other"), y = call.out("y");
        const int64_t first = x.dim(1), second = other.dim(1);
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / (first + second), t = r % (first + second);
            std::ranges::copy(t < first ? x.row(b * first + t) : other.row(b * second + t - first), y.row(r).begin());
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), other = call.in("other"), y = call.out("y");
        const struct {
            uint32_t size, of_x, of_other; // elements: of y, and of a sequence
        } push{u32(y.size()), u32(x.dim(1) * x.cols()), u32(other.dim(1) * other.cols())};
        plan.dispatch(lamina_kernels::append, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.in("other"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Append)
