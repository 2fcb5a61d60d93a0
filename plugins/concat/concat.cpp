// Concatenation along the last axis. README.md has the maths.
#include <lamina/plugin.hpp>

#include "concat.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Concat {
    static constexpr auto id = "concat";
    static constexpr auto summary = "the channels of one tensor, then those of another, group by group";
    static constexpr auto source = "Reimers, Gurevych: Sentence-BERT, arXiv:1908.10084, section 3";

    static constexpr std::array params{
        integer("groups", "equal parts of the rows, such as heads, which are concatenated each by itself", 1, 1),
    };
    static constexpr std::array inputs{
        input("a", "... groups*C", "any tensor"),
        input("b", "... groups*D", "another with the same axes before the last"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... groups*C+groups*D", "each group of a, followed by that of b")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 C=3 D=5", "T=2 C=1 D=1", "B=3 T=4 C=64 D=128", "B=5 C=1009 D=37", "B=2 T=5 groups=6 C=11 D=64",
    };

    static void reference(const Call &call) {
        const Tensor a = call.in("a"), b = call.in("b"), y = call.out("y");
        const auto groups = static_cast<size_t>(call.integer("groups"));
        for (const int64_t r : call.wanted(y)) {
            const size_t cols_a = a.row(r).size() / groups, cols_b = b.row(r).size() / groups;
            auto rest = y.row(r).begin();
            for (size_t g = 0; g < groups; ++g) {
                rest = std::ranges::copy(a.row(r).subspan(g * cols_a, cols_a), rest).out;
                rest = std::ranges::copy(b.row(r).subspan(g * cols_b, cols_b), rest).out;
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor a = call.in("a"), b = call.in("b"), y = call.out("y");
        const int64_t groups = call.integer("groups");
        const struct {
            uint32_t size, cols_a, cols_b;
        } push{u32(y.size()), u32(a.cols() / groups), u32(b.cols() / groups)};
        plan.dispatch(lamina_kernels::concat, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("a"), plan.in("b"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Concat)
