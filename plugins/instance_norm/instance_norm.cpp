// Instance and group normalization: of each channel of a sequence, or of several together, over time. README.md has the
// maths.
#include <lamina/plugin/product.hpp> // activate()

#include "instance_norm.kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {
using namespace lamina::plugin;

constexpr int64_t chunk = 256;       // steps of which a workgroup makes a mean and a sum of squares
constexpr int64_t longest = 1 << 23; // steps; the loops of more could have too many rounds

struct InstanceNorm {
    static constexpr auto id = "instance_norm";
    static constexpr auto summary = "activation of (x - mean) / sqrt(variance + eps) * weight + bias, of every channel "
                                    "or group of channels over the steps of a sequence";
    static constexpr auto source =
        "Ulyanov, Vedaldi, Lempitsky: Instance Normalization, arXiv:1607.08022; Wu, He: Group "
        "Normalization, arXiv:1803.08494";

    static constexpr std::array params{
        integer("group_size", "neighbouring channels that are normalized together", 1, 1),
        real("eps", "added to the variance", 1e-5, 0, 1),
        choice("activation", "of the result; gelu is the erf form", "none|" LAMINA_ACTIVATIONS),
    };
    static constexpr std::array inputs{
        input("x", "B T G*group_size", "sequences, a row of channels for each step"),
        optional(indices("lengths", "B", "0 T+1", "how many of a sequence's steps count; all when left out")),
    };
    static constexpr std::array weights{
        optional(weight("weight", "G*group_size", "scale; 1 when left out")),
        optional(weight("bias", "G*group_size", "offset; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T G*group_size", "normalized sequences; zeros in steps that do not count")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("means and squares of 256 steps each, then those of all, and of groups, then the values"),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 T=1 G=1 +weight +bias",
        "B=2 T=257 G=33 activation=gelu +weight +bias weights=f16",
        "B=3 T=67 G=65 +lengths +weight eps=1e-3",
        "B=5 T=19 G=7 +lengths lengths=zeros +bias activation=silu",
        "B=4 T=9 G=32 +lengths lengths=one +weight +bias",
        "B=2 T=700 G=40 +lengths x=offset +weight +bias weights=bf16 activation=gelu",
        "B=1 T=4099 G=31 x=offset",
        "B=2 T=256 G=64 activation=relu +bias",
        "B=2 T=255 G=129 activation=tanh +lengths lengths=max",
        "B=2 T=300 G=1 group_size=37 +weight +bias +lengths x=offset",
        "B=3 T=11 G=3 group_size=70 +weight eps=1e-3 weights=f16 activation=tanh",
        "B=4 T=9 G=5 group_size=2 +lengths lengths=one +bias",
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
            if (b != sequence) statistics(x, b, length, call.integer("group_size"), eps, mean, deviation);
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
        const int64_t group = call.integer("group_size");
        const bool has_lengths = static_cast<bool>(call.in("lengths"));
        const lamina_ref parts = plan.scratch(batch * chunks * cols * 8), of_all = plan.scratch(batch * cols * 8);
        const lamina_ref of_channels = group == 1 ? of_all : plan.scratch(batch * cols * 8);
        const struct {
            uint32_t batch, steps, cols;
            float eps;
        } push{u32(batch), u32(x.dim(1)), u32(cols), static_cast<float>(call.real("eps"))};
        const int64_t slices = ceil_div(cols, 32);
        plan.dispatch(lamina_kernels::instance_norm_parts, plan.spread(batch * chunks * slices),
                      {plan.in("x"), plan.in("lengths"), parts}, push, {{0, has_lengths}});
        plan.dispatch(lamina_kernels::instance_norm_join, plan.spread(batch * slices),
                      {parts, plan.in("lengths"), of_channels}, push, {{0, has_lengths}, {1, group != 1}});
        if (group != 1) {
            const struct {
                uint32_t batch, steps, cols, group;
                float eps;
            } push_groups{push.batch, push.steps, push.cols, u32(group), push.eps};
            plan.dispatch(lamina_kernels::instance_norm_groups, plan.spread(batch * (cols / group)),
                          {plan.in("x"), of_channels, of_all}, push_groups);
        }
        plan.dispatch(
            lamina_kernels::instance_norm, plan.spread(ceil_div(x.size(), 64)),
            {plan.in("x"), plan.in("lengths"), of_all, plan.weight("weight"), plan.weight("bias"), plan.out("y")}, push,
            {{0, dtype_of(call.weight("weight"))},
             {1, dtype_of(call.weight("bias"))},
             {2, has_lengths},
             {3, u32(call.integer("activation"))}});
    }

  private:
    // Mean and deviation of each channel of a sequence, with those of its group.
    static void statistics(const Tensor &x, int64_t b, int64_t length, int64_t group, double eps,
                           std::vector<double> &mean, std::vector<double> &deviation) {
        mean.assign(static_cast<size_t>(x.cols()), 0);
        deviation.assign(static_cast<size_t>(x.cols()), 0);
        const auto n = static_cast<double>(length * group);
        const auto size = static_cast<size_t>(group);
        for (size_t first = 0; first < mean.size(); first += size) {
            double sum = 0, squares = 0;
            const auto each = [&](const auto &take) {
                for (int64_t t = 0; t < length; ++t)
                    for (size_t c = first; c < first + size; ++c) take(x.row(b * x.dim(1) + t)[c]);
            };
            each([&](double v) { sum += v / n; });
            each([&](double v) { squares += (v - sum) * (v - sum) / n; });
            std::fill_n(mean.begin() + static_cast<std::ptrdiff_t>(first), size, sum);
            std::fill_n(deviation.begin() + static_cast<std::ptrdiff_t>(first), size, std::sqrt(squares + eps));
        }
    }
};

} // namespace

LAMINA_PLUGIN(InstanceNorm)
