// The indices of the two greatest values of each row, with variants that choose otherwise.
#include <lamina/plugin.hpp>

#include "chooser.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

struct Chooser {
    static constexpr auto id = "chooser", summary = "the two greatest of a row", source = "";
    static constexpr std::array inputs{
        input("x", "... E", "scores"),
        optional(indices("given", "... 2", "0 E", "the choice, if it is made")),
    };
    static constexpr std::array outputs{
        chosen(indices("best", "... 2", "0 E", "the choice"), "given"),
        margin(output("margin", "... 1", "how clear it is")),
    };
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("right"),
        variant("rounded", "right, but of scores that are nearly equal it takes the last", 0),
        variant("worse", "the greatest and the third", 0),
        variant("twice", "the greatest twice", 0),
        variant("outside", "the greatest and E", 0),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{"B=1 E=3", "B=2 T=5 E=11", "B=1 T=2 E=4 x=equal", "B=1 T=3 E=7 +given"};

    static void check(const Call &call) {
        if (call.in("x").cols() < 3) throw Invalid("expected three scores in a row");
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), given = call.in("given");
        for (int64_t r = 0; r < x.rows(); ++r) {
            const std::span<const float> row = x.row(r);
            std::vector<int32_t> order(row.size());
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return at(row, a) > at(row, b); });
            if (given) std::copy_n(given.i32().begin() + 2 * r, 2, order.begin());
            std::copy_n(order.begin(), 2, call.out("best").i32().begin() + 2 * r);
            const float least = std::min(at(row, order[0]), at(row, order[1]));
            float other = std::numeric_limits<float>::lowest();
            for (int32_t i = 0; i < static_cast<int32_t>(row.size()); ++i)
                if (i != order[0] && i != order[1]) other = std::max(other, at(row, i));
            const double magnitude = std::max(std::abs(double{least}), std::abs(double{other}));
            call.out("margin").row(r)[0] =
                magnitude == 0 ? 0 : static_cast<float>((double{least} - double{other}) / magnitude);
        }
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct {
            uint32_t rows, size, fault, given;
        } push{u32(x.rows()), u32(x.cols()), plan.variant, static_cast<bool>(call.in("given"))};
        plan.dispatch(lamina_kernels::chooser, plan.spread(ceil_div(x.rows(), 64)),
                      {plan.in("x"), plan.in("given"), plan.out("best"), plan.out("margin")}, push);
    }

  private:
    static float at(std::span<const float> row, int32_t i) { return row[static_cast<size_t>(i)]; }
};

} // namespace

LAMINA_PLUGIN(Chooser)
