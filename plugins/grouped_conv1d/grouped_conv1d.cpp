// Convolution over time, of each group of channels by itself. README.md has the maths.
#include <lamina/plugin/product.hpp> // activate()

#include "grouped_conv1d.kernels.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;

struct GroupedConv1d {
    static constexpr auto id = "grouped_conv1d";
    static constexpr auto summary =
        "activation of a convolution over the time axis, of each group of channels by itself, + residual";
    static constexpr auto source = "Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional "
                                   "Neural Networks, NIPS 2012, section 3.5";

    static constexpr std::array params{
        integer("groups", "parts of the channels, each of which depends on the same part of x only", 1, 1),
        integer("stride", "steps of x per step of y", 1, 1),
        integer("padding", "zeros before the first step", 0, 0),
        follows(integer("end_padding", "zeros after the last step", 0, 0), "padding"),
        choice("activation", "of the sums; gelu is the erf form", "none|" LAMINA_ACTIVATIONS),
    };
    static constexpr std::array inputs{
        input("x", "B stride*S+K-stride-padding-end_padding groups*I", "sequences, a row of channels for each step"),
        optional(indices("lengths", "B", "0 2147483647",
                         "how many of a sequence's steps count, those behind them are taken as zeros; all when left "
                         "out")),
        optional(input("residual", "B S groups*O", "added to the result of the activation")),
    };
    static constexpr std::array weights{
        weight("weight", "groups*O I K", "for each output channel, K values of every input channel of its group"),
        optional(weight("bias", "groups*O", "added to the sums; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B S groups*O", "sequences of S steps")),
    };

    static constexpr auto work = "2*I*K";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("tiles of 64 steps x 64 channels of a group by way of shared memory"),
    };
    static constexpr std::array tolerances{tolerance(3e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 S=1 I=1 O=1 K=1 +bias",
        "B=2 S=37 groups=4 I=12 O=12 K=16 padding=8 end_padding=7 activation=gelu +bias +residual weights=f16",
        "B=3 S=67 groups=3 I=5 O=65 K=5 padding=2 activation=gelu +bias +lengths lengths=one",
        "B=4 S=23 groups=2 I=9 O=64 K=4 stride=3 +lengths lengths=zeros +residual weights=bf16",
        "B=1 S=130 groups=33 I=1 O=1 K=7 padding=3 activation=silu +bias +residual",
        "B=2 S=9 groups=5 I=33 O=2 K=3 stride=2 padding=1 end_padding=0 activation=relu",
        "B=2 S=3 groups=2 I=9 O=10 K=2 stride=5 padding=1 end_padding=3 activation=tanh +bias +lengths lengths=max",
        "B=2 S=12 I=17 O=63 K=11 padding=9 end_padding=5 activation=gelu_tanh +bias +lengths lengths=one +residual",
        "B=1 S=40 groups=2 I=48 O=48 K=128 padding=64 end_padding=63 activation=gelu +bias +residual",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), lengths = call.in("lengths"), residual = call.in("residual");
        const Tensor weight = call.weight("weight"), bias = call.weight("bias"), y = call.out("y");
        const int64_t stride = call.integer("stride"), padding = call.integer("padding");
        const int64_t channels = weight.dim(1), width = weight.dim(2), group_cols = y.cols() / call.integer("groups");
        const auto activation = static_cast<Activation>(call.integer("activation")); // "none" comes first
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / y.dim(1), s = r % y.dim(1);
            const int64_t length =
                lengths ? std::min<int64_t>(x.dim(1), lengths.i32()[static_cast<size_t>(b)]) : x.dim(1);
            for (int64_t n = 0; n < y.cols(); ++n) {
                double sum = bias ? bias.f32()[static_cast<size_t>(n)] : 0;
                for (int64_t k = 0; k < width; ++k) {
                    const int64_t t = s * stride + k - padding;
                    if (t < 0 || t >= length) continue;
                    const auto in = x.row(b * x.dim(1) + t);
                    for (int64_t c = 0; c < channels; ++c)
                        sum += static_cast<double>(in[static_cast<size_t>(n / group_cols * channels + c)]) *
                               weight.row(n * channels + c)[static_cast<size_t>(k)];
                }
                const double added = residual ? residual.row(r)[static_cast<size_t>(n)] : 0;
                y.row(r)[static_cast<size_t>(n)] = static_cast<float>(activate(activation, sum) + added);
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        (void)u32(x.size()), (void)u32(y.size()), (void)u32(weight.size()); // the kernel counts elements in 32 bits
        const int64_t groups = call.integer("groups"), group_cols = y.cols() / groups;
        const struct {
            uint32_t rows, groups, group_cols, channels, steps, length, stride, padding;
        } push{u32(y.rows()),
               u32(groups),
               u32(group_cols),
               u32(weight.dim(1)),
               u32(y.dim(1)),
               u32(x.dim(1)),
               u32(call.integer("stride")),
               u32(call.integer("padding"))};
        plan.dispatch(lamina_kernels::grouped_conv1d,
                      plan.spread(ceil_div(y.rows(), 64) * groups * ceil_div(group_cols, 64)),
                      {plan.in("x"), plan.weight("weight"), plan.weight("bias"), plan.in("lengths"),
                       plan.in("residual"), plan.out("y")},
                      push,
                      {{0, dtype_of(weight)},
                       {1, dtype_of(call.weight("bias"))},
                       {2, u32(call.integer("activation"))},
                       {3, u32(weight.dim(2))},
                       {4, static_cast<bool>(call.in("lengths"))},
                       {5, static_cast<bool>(call.in("residual"))}});
    }
};

} // namespace

LAMINA_PLUGIN(GroupedConv1d)
