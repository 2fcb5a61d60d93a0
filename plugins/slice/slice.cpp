// Some channels of each group. README.md has the maths.
#include <lamina/plugin.hpp>

#include "slice.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Slice {
    static constexpr auto id = "slice";
    static constexpr auto summary = "some neighbouring channels, of each group the same";
    static constexpr auto source = "heads whose channels are of two kinds: DeepSeek-AI: DeepSeek-V2, arXiv:2405.04434, "
                                   "section 2.1.3";

    static constexpr std::array params{
        integer("groups", "equal parts of a row, such as heads", 1, 1),
        integer("first", "the first channel of a group that is taken", 0, 0),
        required(integer("count", "how many are taken", 1, 1)),
    };
    static constexpr std::array inputs{
        input("x", "... groups*C", "any tensor"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... groups*count", "of each group of x, the channels from the first one on")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one invocation per element of y"),
    };
    static constexpr std::array tolerances{tolerance(0, 0)}; // nothing is computed
    static constexpr std::array cases{
        "B=2 T=3 C=5 first=2 count=3",
        "T=2 C=1 count=1",
        "B=3 T=4 groups=6 C=37 first=8 count=20",
        "B=2 T=65 groups=16 C=192 count=128",
    };

    static void check(const Call &call) {
        const int64_t channels = call.in("x").cols() / call.integer("groups"), first = call.integer("first"),
                      count = call.integer("count");
        if (first >= channels || count > channels - first)
            throw Invalid("channels " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                          " of a group that has " + std::to_string(channels) + ": expected some that are there");
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), y = call.out("y");
        const auto groups = static_cast<size_t>(call.integer("groups")),
                   first = static_cast<size_t>(call.integer("first")),
                   count = static_cast<size_t>(call.integer("count"));
        for (const int64_t r : call.wanted(y))
            for (size_t g = 0; g < groups; ++g)
                std::ranges::copy(x.row(r).subspan(g * (x.row(r).size() / groups) + first, count),
                                  y.row(r).subspan(g * count).begin());
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), y = call.out("y");
        (void)u32(x.size()); // the kernel counts elements in 32 bits
        const struct {
            uint32_t size, channels, first, count;
        } push{u32(y.size()), u32(x.cols() / call.integer("groups")), u32(call.integer("first")),
               u32(call.integer("count"))};
        plan.dispatch(lamina_kernels::slice, plan.spread(ceil_div(y.size(), 64)), {plan.in("x"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(Slice)
