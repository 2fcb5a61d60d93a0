// The logarithm of softmax over the last axis. README.md has the maths.
#include <lamina/plugin.hpp>

#include "log_softmax.kernels.hpp"

#include <cmath>

namespace {
using namespace lamina::plugin;

struct LogSoftmax {
    static constexpr auto id = "log_softmax";
    static constexpr auto summary = "x - log(sum(exp(x))), over the last axis";
    static constexpr auto source = "log(softmax(x)), without forming softmax(x)";

    static constexpr std::array inputs{
        input("x", "... C", "logits"),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C", "log probabilities; -infinity if the whole row is -infinity")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("one workgroup of 64 per row, shifted by its maximum"),
        variant("subgroup", "sums by subgroups first", subgroup_sums),
    };
    // Vulkan promises log() near 1 only to 2^-21 = 4.8e-7, and for a row of one value this is the whole result.
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=3 C=160",           "B=2 T=37 C=113",        "B=1 T=5 C=1",
        "B=1 T=2 C=1009 x=offset", "B=3 T=2 C=257 x=large", "B=2 T=3 C=97 x=infinite",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), y = call.out("y");
        for (const int64_t r : call.wanted(y)) {
            const auto in = x.row(r), out = y.row(r);
            double maximum = std::numeric_limits<float>::lowest(), sum = 0; // finite: see softmax
            for (const double v : in)
                if (v > maximum) maximum = v;
            for (const double v : in) sum += std::exp(v - maximum);
            const double log_sum = sum == 0 ? 0 : std::log(sum); // 0: the whole row is -infinity and stays so
            for (size_t c = 0; c < in.size(); ++c) out[c] = static_cast<float>(in[c] - maximum - log_sum);
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        (void)u32(x.size()); // the kernel counts elements in 32 bits
        const struct { uint32_t rows, cols; } push{u32(x.rows()), u32(x.cols())};
        plan.dispatch(plan.variant == 0 ? lamina_kernels::log_softmax : lamina_kernels::log_softmax_subgroup,
                      plan.spread(x.rows()), {plan.in("x"), plan.out("y")}, push);
    }
};

} // namespace

LAMINA_PLUGIN(LogSoftmax)
