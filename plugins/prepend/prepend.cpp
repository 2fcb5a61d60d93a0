// Puts learned rows before each sequence. README.md has the maths.
#include <lamina/plugin.hpp>

#include "prepend.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Prepend {
    static constexpr auto id = "prepend";
    static constexpr auto summary = "learned rows before each sequence, such as a class token";
    static constexpr auto source = "Dosovitskiy et al.: An Image is Worth 16x16 Words, arXiv:2010.11929, section 3.1";

    static constexpr std::array inputs{
        input("x", "B T C", "sequences"),
    };
    static constexpr std::array weights{
        weight("rows", "R C", "what comes before each of them"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B R+T C", "the rows, then x")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 R=1 C=5",    "B=1 T=1 R=1 C=1",    "B=3 T=7 R=2 C=33 weights=f16", "B=2 T=5 R=4 C=130 weights=bf16",
        "B=2 T=196 R=1 C=64", "B=1 T=2 R=37 C=129",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), rows = call.weight("rows"), y = call.out("y");
        const int64_t added = rows.dim(0), before = x.dim(1), after = added + before;
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / after, t = r % after;
            std::ranges::copy(t < added ? rows.row(t) : x.row(b * before + t - added), y.row(r).begin());
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor rows = call.weight("rows"), y = call.out("y");
        const struct {
            uint32_t size, of_rows, of_y; // elements: of y, of the rows, of a sequence of y
        } push{u32(y.size()), u32(rows.size()), u32(y.dim(1) * y.cols())};
        plan.dispatch(lamina_kernels::prepend, plan.spread(ceil_div(y.size(), 64)),
                      {plan.in("x"), plan.weight("rows"), plan.out("y")}, push, {{0, dtype_of(rows)}});
    }
};

} // namespace

LAMINA_PLUGIN(Prepend)
