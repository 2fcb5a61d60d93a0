// An activation of every value, or a soft cap. README.md has the maths.
#include <lamina/plugin/product.hpp> // activate()

#include "activation.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

struct ActivationLayer {
    static constexpr auto id = "activation";
    static constexpr auto summary = "scale * activation(x / scale) * times * factor, value by value";
    static constexpr auto source = "Hendrycks, Gimpel: Gaussian Error Linear Units, arXiv:1606.08415; soft cap: Gemma "
                                   "Team: Gemma 2, arXiv:2408.00118, section 2";

    static constexpr std::array params{
        choice("activation",
               "gelu is the erf form; none: the values themselves; log1p_relu: log(1 + max(x, 0)); clamp: max(low, "
               "min(x, high))",
               LAMINA_ACTIVATIONS "|none|log1p_relu|clamp"),
        real("scale", "what x is divided by before and multiplied by after; with tanh, y stays within +-scale", 1, 1e-3,
             1e6),
        real("factor", "of the results", 1, -1e6, 1e6),
        real("low", "the least value of clamp", -1, -1e15, 1e15),
        real("high", "the greatest value of clamp, at least low", 1, -1e15, 1e15),
    };
    static constexpr std::array inputs{
        input("x", "...", "any tensor"),
        optional(input("times", "...", "what the activated values are multiplied by, as where x is a gate")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "...", "activated values")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("four values per invocation"),
    };
    static constexpr std::array tolerances{tolerance(2e-6, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=3",
        "B=2 T=37 activation=gelu",
        "B=1 T=129 activation=gelu_tanh",
        "B=3 T=64 activation=silu",
        "B=5 T=1009 activation=tanh",
        "B=3 T=61 activation=quick_gelu",
        "B=1 T=31 activation=quick_gelu x=huge",
        "B=2 T=65 activation=tanh scale=30 x=large",
        "B=2 T=63 activation=tanh scale=0.01 x=huge",
        "B=1 T=127 activation=gelu x=large",
        "B=1 T=33 activation=silu scale=2 x=huge",
        "B=2 T=129 activation=sigmoid +times",
        "B=1 T=33 activation=sigmoid x=huge",
        "B=3 T=301 activation=silu +times x=large",
        "B=2 T=131 activation=relu2 x=large",
        "B=1 T=257 activation=tanh scale=3 +times",
        "B=2 T=67 activation=none +times x=large",
        "B=1 T=5 activation=none x=infinite",
        "B=2 T=301 activation=none factor=-0.3 x=large",
        "B=1 T=259 activation=gelu_tanh factor=3 +times",
        "B=1 T=9 activation=silu x=infinite",
        "B=1 T=9 activation=gelu_tanh x=infinite",
        "B=2 T=301 activation=log1p_relu",
        "B=1 T=65 activation=log1p_relu x=huge",
        "B=1 T=67 activation=log1p_relu x=tiny +times",
        "B=1 T=9 activation=log1p_relu x=infinite",
        "B=2 T=301 activation=clamp scale=0.7",
        "B=1 T=67 activation=clamp scale=6 x=large +times",
        "B=1 T=9 activation=clamp x=infinite",
        "B=2 T=131 activation=clamp low=-0.2 high=1.5 +times",
        "B=1 T=67 activation=clamp low=-1e15 high=0.3 x=large",
    };

    static void check(const Call &call) {
        if (call.real("low") > call.real("high"))
            throw Invalid("low must not be above high: found " + std::to_string(call.real("low")) + " and " +
                          std::to_string(call.real("high")));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), times = call.in("times"), y = call.out("y");
        const double scale = call.real("scale"), factor = call.real("factor");
        for (const int64_t r : call.wanted(y))
            for (size_t i = 0; i < x.row(r).size(); ++i) {
                const double by = times ? times.row(r)[i] : 1;
                y.row(r)[i] = static_cast<float>(scale * activated(call, x.row(r)[i] / scale) * by * factor);
            }
    }

    static void plan(const Call &call, Plan &plan) {
        const int64_t size = call.in("x").size();
        const auto number = [&](const char *name) { return static_cast<float>(call.real(name)); };
        const struct {
            uint32_t size;
            float scale, factor, low, high;
        } push{u32(size), number("scale"), number("factor"), number("low"), number("high")};
        plan.dispatch(lamina_kernels::activation, plan.spread(ceil_div(size, 256)),
                      {plan.in("x"), plan.in("times"), plan.out("y")}, push,
                      {{0, kernels_number(call)}, {1, static_cast<bool>(call.in("times"))}});
    }

  private:
    // The choices that only this layer has come last, so that the first one is what it always was.
    static constexpr int64_t none_choice = LAMINA_LAST_ACTIVATION, log1p_relu_choice = none_choice + 1,
                             clamp_choice = log1p_relu_choice + 1;

    static uint32_t kernels_number(const Call &call) {
        const int64_t choice = call.integer("activation");
        if (choice == none_choice) return LAMINA_NONE;
        return u32(choice > none_choice ? choice : choice + 1);
    }
    static double activated(const Call &call, double x) {
        const int64_t choice = call.integer("activation");
        if (choice == log1p_relu_choice) return std::log1p(x < 0 ? 0 : x);                     // a NaN stays one
        if (choice == clamp_choice) return std::clamp(x, call.real("low"), call.real("high")); // here, too
        return at_limits(choice == none_choice ? Activation::none : activation_of(call), x);
    }
    // The limits at the infinities, where the formulas would compute 0 times infinity.
    static double at_limits(Activation activation, double x) {
        using enum Activation;
        const bool exact = activation == tanh || activation == sigmoid || activation == none || activation == relu2;
        return std::isinf(x) && !exact ? std::max(x, 0.0) : activate(activation, x);
    }
};

} // namespace

LAMINA_PLUGIN(ActivationLayer)
