// Instance normalization: of each channel of a sequence, over time. README.md has the maths.
#include <lamina/plugin/product.hpp> // activate()

#include "instance_norm.kernels.hpp"

#include <cmath>
#include <vector>

namespace {
using namespace lamina::plugin;

constexpr int64_t chunk = 256;       // steps of which a workgroup makes a mean and a sum of squares
constexpr int64_t longest = 1 << 23; // steps; the loops of more could have too many rounds

struct InstanceNorm {
    static constexpr auto id = "instance_norm";
    static constexpr auto summary = "activation of (x - mean) / sqrt(variance + eps) * weight + bias, of every channel "
                                    "over the steps of a sequence";
    static constexpr auto source =
        "Ulyanov, Vedaldi, Lempitsky: Instance Normalization, arXiv:1607.08022; Wu, He: Group "
        "Normalization, arXiv:1803.08494, with a channel in each group";

    static constexpr std::array params{
        real("eps", "added to the variance", 1e-5, 0, 1),
        choice("activation", "of the result; gelu is the erf form", "none|" LAMINA_ACTIVATIONS),
    };
    static constexpr std::array inputs{
        input("x", "B T C", "sequences, a row of channels for each step"),
        optional(indices("lengths", "B", "0 T+1", "how many of a sequence's steps count; all when left out")),
    };
    static constexpr std::array weights{
        optional(weight("weight", "C", "scale; 1 when left out")),
        optional(weight("bias", "C", "offset; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T C", "normalized sequences; zeros in steps that do not count")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("means and squares of 256 steps each, then those of all, then the values"),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 T=1 C=1 +weight +bias",
        "B=2 T=257 C=33 activation=gelu +weight +bias weights=f16",
        "B=3 T=67 C=65 +lengths +weight eps=1e-3",
        "B=5 T=19 C=7 +lengths lengths=zeros +bias activation=silu",
        "B=4 T=9 C=32 +lengths lengths=one +weight +bias",
        "B=2 T=700 C=40 +lengths x=offset +weight +bias weights=bf16 activation=gelu",
        "B=1 T=4099 C=31 x=offset",
        "B=2 T=256 C=64 activation=relu +bias",
        "B=2 T=255 C=129 activation=tanh +lengths lengths=max",
    };

    static void check(const Call &call) {
        if (const int64_t steps = call.in("x").dim(1); steps > longest)
            throw Invalid("x has " + std::to_string(steps) + " steps (T); expected at most " + std::to_string(longest));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), lengths = call.in("lengths"), y = call.out("y");
        const Tensor weight = call.weight("weight"), bias = call.weight("bias");
        const auto activation = static_cast<Activation>(call.integer("activation")); // "none" comes first
        const double eps = call.real("eps");
        std::vector<double> mean, deviation;
        int64_t sequence = -1; // whose they are
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / x.dim(1), length = lengths ? lengths.i32()[static_cast<size_t>(b)] : x.dim(1);
            if (b != sequence) statistics(x, b, length, eps, mean, deviation);
            sequence = b;
            for (size_t c = 0; c < mean.size(); ++c) {
                const double v = (x.row(r)[c] - mean[c]) / deviation[c] * (weight ? weight.f32()[c] : 1.0) +
                                 (bias ? bias.f32()[c] : 0.0);
                y.row(r)[c] = r % x.dim(1) < length ? static_cast<float>(activate(activation, v)) : 0;
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        (void)u32(x.size()); // the kernels count elements in 32 bits
        const int64_t batch = x.dim(0), cols = x.cols(), chunks = ceil_div(x.dim(1), chunk);
        const bool has_lengths = static_cast<bool>(call.in("lengths"));
        const lamina_ref parts = plan.scratch(batch * chunks * cols * 8), of_all = plan.scratch(batch * cols * 8);
        const struct {
            uint32_t batch, steps, cols;
            float eps;
        } push{u32(batch), u32(x.dim(1)), u32(cols), static_cast<float>(call.real("eps"))};
        const int64_t slices = ceil_div(cols, 32);
        plan.dispatch(lamina_kernels::instance_norm_parts, plan.spread(batch * chunks * slices),
                      {plan.in("x"), plan.in("lengths"), parts}, push, {{0, has_lengths}});
        plan.dispatch(lamina_kernels::instance_norm_join, plan.spread(batch * slices),
                      {parts, plan.in("lengths"), of_all}, push, {{0, has_lengths}});
        plan.dispatch(
            lamina_kernels::instance_norm, plan.spread(ceil_div(x.size(), 64)),
            {plan.in("x"), plan.in("lengths"), of_all, plan.weight("weight"), plan.weight("bias"), plan.out("y")}, push,
            {{0, dtype_of(call.weight("weight"))},
             {1, dtype_of(call.weight("bias"))},
             {2, has_lengths},
             {3, u32(call.integer("activation"))}});
    }

  private:
    // Mean and deviation of each channel of a sequence.
    static void statistics(const Tensor &x, int64_t b, int64_t length, double eps, std::vector<double> &mean,
                           std::vector<double> &deviation) {
        mean.assign(static_cast<size_t>(x.cols()), 0);
        deviation.assign(static_cast<size_t>(x.cols()), 0);
        const auto n = static_cast<double>(length);
        for (size_t c = 0; c < mean.size(); ++c) {
            double variance = 0;
            for (int64_t t = 0; t < length; ++t) mean[c] += x.row(b * x.dim(1) + t)[c] / n;
            for (int64_t t = 0; t < length; ++t) {
                const double difference = x.row(b * x.dim(1) + t)[c] - mean[c];
                variance += difference * difference / n;
            }
            deviation[c] = std::sqrt(variance + eps);
        }
    }
};

} // namespace

LAMINA_PLUGIN(InstanceNorm)
