// Takes each row from one of two tensors. README.md has the maths.
#include <lamina/plugin.hpp>

#include "select.kernels.hpp"

#include <algorithm>
#include <functional>

namespace {
using namespace lamina::plugin;

struct Select {
    static constexpr auto id = "select";
    static constexpr auto summary = "each row from one of two tensors, such as images among the words of a prompt";
    static constexpr auto source = "Liu et al.: Visual Instruction Tuning, arXiv:2304.08485, section 4.1";

    static constexpr std::array params{
        boolean("added", "where the mask is 1, other is added to x instead of taking its place", false),
    };
    static constexpr std::array inputs{
        input("x", "B T C", "where the mask is 0"),
        input("other", "B T C", "where the mask is 1"),
        indices("mask", "B T", "0 2", "which of the two a row is taken from"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T C", "the rows")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // every device rounds a sum of two floats correctly
    static constexpr std::array cases{
        "B=2 T=5 C=7",           "B=1 T=1 C=1",
        "B=3 T=17 C=33",         "B=2 T=9 C=64",
        "B=1 T=37 C=130",        "B=2 T=3 C=5 mask=zeros",
        "B=2 T=37 C=33 added=1", "B=1 T=1 C=5 added=1 mask=zeros",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), other = call.in("other"), mask = call.in("mask"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            const bool masked = mask.i32()[static_cast<size_t>(r)] != 0;
            if (masked && call.flag("added"))
                std::ranges::transform(x.row(r), other.row(r), y.row(r).begin(), std::plus<>());
            else
                std::ranges::copy((masked ? other : x).row(r), y.row(r).begin());
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor y = call.out("y");
        const struct {
            uint32_t size, columns; // elements: of y, of a row
        } push{u32(y.size()), u32(y.cols())};
        plan.dispatch(lamina_kernels::select, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.in("other"), plan.in("mask"), plan.out("y")}, push,
                      {{0, call.flag("added")}});
    }
};

} // namespace

LAMINA_PLUGIN(Select)
