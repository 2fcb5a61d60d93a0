// Concatenation along the last axis. README.md has the maths.
#include <lamina/plugin.hpp>

#include "concat.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Concat {
    static constexpr auto id = "concat";
    static constexpr auto summary = "the channels of one tensor, then those of another";
    static constexpr auto source = "Reimers, Gurevych: Sentence-BERT, arXiv:1908.10084, section 3";

    static constexpr std::array inputs{
        input("a", "... C", "any tensor"),
        input("b", "... D", "another with the same axes before the last"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C+D", "each row of a, followed by that of b")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 C=3 D=5",
        "T=2 C=1 D=1",
        "B=3 T=4 C=64 D=128",
        "B=5 C=1009 D=37",
    };

    static void reference(const Call &call) {
        const Tensor a = call.in("a"), b = call.in("b"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            const auto rest = std::ranges::copy(a.row(r), y.row(r).begin()).out;
            std::ranges::copy(b.row(r), rest);
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor a = call.in("a"), b = call.in("b"), y = call.out("y");
        const struct { uint32_t size, cols_a, cols_b; } push{u32(y.size()), u32(a.cols()), u32(b.cols())};
        plan.dispatch(lamina_kernels::concat, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("a"), plan.in("b"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Concat)
