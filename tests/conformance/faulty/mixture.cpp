// A layer of routed experts, as an author outside of this tree may write one. All its variants but the first have a
// fault that only some cases show; the layer declares a single case, which shows none.
#include <lamina/plugin.hpp>

#include "mixture.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

struct Mixture {
    static constexpr auto id = "mixture", source = "";
    static constexpr auto summary = "the sum of the chosen experts' products, weighted with softmax(gate)";
    static constexpr std::array params{required(integer("experts", "how many there are", 1, 1, 4096))};
    static constexpr std::array inputs{
        input("x", "T C", "rows"),
        input("gate", "T K", "scores of the chosen experts"),
        indices("ids", "T K", "0 experts", "the chosen experts"),
    };
    static constexpr std::array weights{weight("weight", "experts*N C", "a matrix for each expert")};
    static constexpr std::array outputs{
        output("y", "T N", "rows"),
        indices("best", "T 1", nullptr, "the expert with the greatest score; of several, the first"),
        indices("loads", "experts", nullptr, "how often each was chosen"),
    };
    static constexpr auto &kernels = lamina_kernels::all;
    // In the order of the faults in the kernels.
    static constexpr std::array variants{
        baseline("right"),
        variant("window", "takes rows of the whole weight for rows of the part that is bound", 0),
        variant("overflow", "exp of the scores as they are", 0),
        variant("ties", "the last of several greatest scores", 0),
        variant("many", "keeps ids in five bits", 0),
        variant("loop", "a loop of one invocation over all choices", 0),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{"T=3 K=2 C=16 N=8 experts=4"};

    // So that no loop of the right kernel is longer than drivers run.
    static void check(const Call &call) {
        const Tensor x = call.in("x"), ids = call.in("ids");
        if (x.cols() > 4096)
            throw Invalid("rows of x: expected at most 4096 values, found " + std::to_string(x.cols()));
        if (ids.cols() > 16) throw Invalid("chosen experts: expected at most 16, found " + std::to_string(ids.cols()));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), gate = call.in("gate"), ids = call.in("ids"), weight = call.weight("weight"),
                     y = call.out("y"), best = call.out("best"), loads = call.out("loads");
        std::ranges::fill(loads.i32(), 0);
        for (const int32_t expert : ids.i32()) ++loads.i32()[static_cast<size_t>(expert)];
        for (int64_t r = 0; r < x.rows(); ++r) {
            const auto scores = gate.row(r);
            const auto chosen = ids.i32().subspan(static_cast<size_t>(r * ids.cols()), scores.size());
            const auto greatest = std::ranges::max_element(scores);
            best.i32()[static_cast<size_t>(r)] = chosen[static_cast<size_t>(greatest - scores.begin())];
            double sum = 0;
            std::vector<double> shares;
            for (const double score : scores) sum += shares.emplace_back(std::exp(score - *greatest));
            for (int64_t n = 0; n < y.cols(); ++n) {
                double value = 0;
                for (size_t k = 0; k < shares.size(); ++k)
                    value += shares[k] / sum * product(x.row(r), weight.row(chosen[k] * y.cols() + n));
                y.row(r)[static_cast<size_t>(n)] = static_cast<float>(value);
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), ids = call.in("ids"), weight = call.weight("weight"), y = call.out("y");
        for (const Window &w : plan.windows(plan.weight("weight"), weight.rows(), weight.row_bytes())) {
            const struct {
                uint32_t rows, cols, outputs, chosen, first, count;
            } push{u32(x.rows()), u32(x.cols()), u32(y.cols()), u32(ids.cols()), u32(w.first), u32(w.count)};
            plan.dispatch(lamina_kernels::mixture, plan.spread(ceil_div(y.size(), 8)),
                          {plan.in("x"), plan.in("gate"), plan.in("ids"), w.ref, plan.out("y"), plan.out("best")}, push,
                          {{0, dtype_of(weight)}, {1, plan.variant}});
        }
        const struct { uint32_t experts, size; } push{u32(call.integer("experts")), u32(ids.size())};
        plan.dispatch(lamina_kernels::loads, plan.spread(push.experts), {plan.in("ids"), plan.out("loads")}, push,
                      {{1, plan.variant}});
    }

  private:
    static double product(std::span<const float> a, std::span<const float> b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
        return sum;
    }
};

} // namespace

LAMINA_PLUGIN(Mixture)
