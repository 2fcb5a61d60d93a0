// A layer whose variants have the faults that kernels have in the field. The generated cases must show each of them:
// the layer declares only one, which shows none.
#include <lamina/plugin.hpp>

#include "faulty.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct Faulty {
    static constexpr auto id = "faulty", source = "";
    static constexpr auto summary = "min(x, the row after x) times the sum of the weight's rows";
    static constexpr std::array inputs{input("x", "B T C", "rows")};
    static constexpr std::array weights{weight("weight", "3 C", "factors")};
    static constexpr std::array outputs{by_rows(output("y", "B T C", "rows"))};
    static constexpr auto &kernels = lamina_kernels::all;
    // In the order of the faults in faulty.comp.
    static constexpr std::array variants{
        baseline("right"),
        variant("large", "wrong from element 100,000 on", 0),
        variant("batch", "wrong for batch entries from 4 on", 0),
        variant("folded", "takes the number of the workgroup along x for its number in the grid", 0),
        variant("weight_beyond", "reads one row of the weight too many", 0),
        variant("x_beyond", "reads a row behind x, and loses NaN in min()", 0),
        variant("length", "wrong if T is above 512 and not a multiple of 64", 0),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{"B=1 T=3 C=16"};

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        for (const int64_t r : call.wanted(y))
            for (size_t c = 0; c < y.row(r).size(); ++c) {
                double factor = 0;
                for (int64_t k = 0; k < weight.rows(); ++k) factor += weight.row(k)[c];
                const double next = r + 1 < x.rows() ? x.row(r + 1)[c] : std::numeric_limits<double>::infinity();
                y.row(r)[c] = static_cast<float>(std::min<double>(x.row(r)[c], next) * factor);
            }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight");
        const struct { uint32_t size, length, cols; } push{u32(x.size()), u32(x.dim(1)), u32(x.cols())};
        plan.dispatch(lamina_kernels::faulty, plan.spread(ceil_div(x.size(), 64)),
                      {plan.in("x"), plan.weight("weight"), plan.out("y")}, push,
                      {{0, dtype_of(weight)}, {1, plan.variant}});
    }
};

} // namespace

LAMINA_PLUGIN(Faulty)
