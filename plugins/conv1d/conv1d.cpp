// Convolution over time. README.md has the maths.
#include <lamina/plugin/product.hpp> // activate()

#include "conv1d.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Conv1d {
    static constexpr auto id = "conv1d";
    static constexpr auto summary =
        "activation of a convolution over the time axis, with stride, zeros around and bias";
    static constexpr auto source = "Waibel et al.: Phoneme Recognition Using Time-Delay Neural Networks, IEEE "
                                   "Transactions on Acoustics, Speech and Signal Processing 37 (1989), p. 328";

    static constexpr std::array params{
        integer("stride", "steps of x per step of y", 1, 1),
        integer("padding", "zeros before the first step", 0, 0),
        follows(integer("end_padding", "zeros after the last step", 0, 0), "padding"),
        choice("activation", "of the result; gelu is the erf form", "none|" LAMINA_ACTIVATIONS),
    };
    static constexpr std::array inputs{
        input("x", "B stride*S+K-stride-padding-end_padding Cin", "sequences, a row of channels for each step"),
    };
    static constexpr std::array weights{
        weight("weight", "Cout Cin K", "for each output channel, K values of every input channel"),
        optional(weight("bias", "Cout", "added to the sums; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B S Cout", "sequences of S steps")),
    };

    static constexpr auto work = "2*Cin*K";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("tiles of 64 steps x 64 channels by way of shared memory"),
    };
    static constexpr std::array tolerances{tolerance(3e-5, 4e-6)};
    static constexpr std::array cases{
        "B=1 S=1 Cin=1 Cout=1 K=1 +bias",
        "B=2 S=37 Cin=20 Cout=65 K=3 padding=1 activation=gelu +bias weights=f16",
        "B=1 S=67 Cin=33 Cout=64 K=3 stride=2 padding=1 end_padding=0 activation=gelu +bias",
        "B=3 S=23 Cin=5 Cout=129 K=4 stride=3 weights=bf16",
        "B=2 S=9 Cin=7 Cout=31 K=11 padding=5 activation=silu +bias",
        "B=1 S=130 Cin=80 Cout=63 K=3 padding=2 end_padding=0 activation=relu +bias",
        "B=2 S=3 Cin=9 Cout=10 K=2 stride=5 padding=1 end_padding=3 activation=tanh",
        "B=1 S=64 Cin=16 Cout=64 K=1 activation=gelu_tanh +bias",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), bias = call.weight("bias"), y = call.out("y");
        const int64_t length = x.dim(1), stride = call.integer("stride"), padding = call.integer("padding");
        const int64_t width = weight.dim(2), channels = weight.dim(1);
        for (const int64_t r : call.wanted(y))
            for (int64_t n = 0; n < y.cols(); ++n) {
                const int64_t b = r / y.dim(1), s = r % y.dim(1);
                double sum = bias ? bias.f32()[static_cast<size_t>(n)] : 0;
                for (int64_t k = 0; k < width; ++k) {
                    const int64_t t = s * stride + k - padding;
                    if (t < 0 || t >= length) continue;
                    const auto in = x.row(b * length + t);
                    for (int64_t c = 0; c < channels; ++c)
                        sum += static_cast<double>(in[static_cast<size_t>(c)]) *
                               weight.row(n * channels + c)[static_cast<size_t>(k)];
                }
                y.row(r)[static_cast<size_t>(n)] = static_cast<float>(activate(activation_of(call), sum));
            }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        (void)u32(x.size()), (void)u32(y.size()); // the kernel counts elements in 32 bits
        const struct {
            uint32_t rows, cols, inner, steps, length, channels, stride, padding;
        } push{u32(y.rows()), u32(y.cols()), u32(weight.dim(1) * weight.dim(2)), u32(y.dim(1)),
               u32(x.dim(1)), u32(x.cols()), u32(call.integer("stride")),        u32(call.integer("padding"))};
        plan.dispatch(lamina_kernels::conv1d, plan.spread(ceil_div(y.rows(), 64) * ceil_div(y.cols(), 64)),
                      {plan.in("x"), plan.weight("weight"), plan.weight("bias"), plan.out("y")}, push,
                      {{0, dtype_of(weight)},
                       {1, dtype_of(call.weight("bias"))},
                       {2, static_cast<uint32_t>(activation_of(call))},
                       {3, u32(weight.dim(2))}});
    }

  private:
    // "none" comes first here.
    static Activation activation_of(const Call &call) { return static_cast<Activation>(call.integer("activation")); }
};

} // namespace

LAMINA_PLUGIN(Conv1d)
