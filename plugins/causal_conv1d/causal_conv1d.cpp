// A short causal convolution of every channel, with or without a state. README.md has the maths.
#include <lamina/plugin/product.hpp> // activate()

#include "causal_conv1d.kernels.hpp"

namespace {
using namespace lamina::plugin;

// Steps of every channel: those of earlier calls, then those of this one.
class Steps {
  public:
    explicit Steps(const Call &call)
        : x_(call.in("x")), before_(call.state("before")), position_(call.in("position")),
          width_(call.weight("weight").dim(1)) {}

    // Step t of a sequence, from t = -(K - 1) on.
    [[nodiscard]] float at(int64_t b, int64_t t, int64_t c) const {
        if (t >= 0) return x_.row(b * x_.dim(1) + t)[static_cast<size_t>(c)];
        const bool begun = before_ && position_.i32()[static_cast<size_t>(b)] > 0;
        return begun ? before_.row(b * (width_ - 1) + width_ - 1 + t)[static_cast<size_t>(c)] : 0;
    }

  private:
    Tensor x_, before_, position_;
    int64_t width_;
};

struct CausalConv1d {
    static constexpr auto id = "causal_conv1d";
    static constexpr auto summary = "activation of a convolution of every channel with its last K steps";
    static constexpr auto source = "Gu, Dao: Mamba, arXiv:2312.00752, section 3.4; Yang et al.: Gated Delta Networks, "
                                   "arXiv:2412.06464, section 3.4";

    static constexpr std::array params{
        choice("activation", "of the sums", "none|" LAMINA_ACTIVATIONS),
    };
    static constexpr std::array inputs{
        input("x", "B T C", "sequences, a row of channels for each step"),
        optional(indices("position", "B", "0 2147483647", "of a sequence's first step; 0: no step is before it")),
        optional(
            indices("lengths", "B", "0 T+1", "how many of a sequence's steps the state takes in; all when left out")),
    };
    static constexpr std::array weights{
        weight("weight", "C K", "factors of a channel's last K steps, the earliest first"),
        optional(weight("bias", "C", "added to the sums; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T C", "the same steps of the result")),
    };
    static constexpr std::array states{
        goes_with(state("before", "B K-1 C", nullptr, "the last K - 1 steps of earlier calls"), "position"),
    };

    static constexpr auto work = "2*K";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("an invocation for each value, then one for each channel of the state"),
        variant("serial", "an invocation for each channel of a sequence; for few steps", 0),
    };
    static constexpr std::array tolerances{tolerance(2e-6, 1e-6)};
    static constexpr std::array cases{
        "B=1 T=1 C=1 K=2",
        "B=2 T=37 C=65 K=4 activation=silu",
        "B=3 T=5 C=33 K=3 activation=silu +bias weights=f16",
        "B=2 T=9 C=7 K=11 +bias weights=bf16",
        "B=3 T=1 C=130 K=4 activation=silu +position +before",
        "B=4 T=2 C=67 K=4 +bias +position +before position=zeros",
        "B=5 T=3 C=40 K=4 activation=silu +position +before +lengths",
        "B=3 T=1 C=70 K=4 +position +before +lengths lengths=zeros",
        "B=4 T=70 C=19 K=5 activation=gelu +position +before +lengths",
        "B=2 T=6 C=12 K=9 +position +lengths",
        "B=2 T=1 C=9 K=4 activation=silu +position +before position=one",
        "B=2 T=20 C=9 K=4 activation=silu +position +before position=one",
    };

    static void check(const Call &call) {
        constexpr int64_t longest = 256; // published models have 2 to 4
        if (const int64_t width = call.weight("weight").dim(1); width < 2 || width > longest)
            throw Invalid("weight has " + std::to_string(width) + " factors for each channel (K); expected 2 to " +
                          std::to_string(longest));
        if (call.state("before") && !call.in("position"))
            throw Invalid("before is given without a position, which says whether a sequence has begun: give both");
    }

    static void reference(const Call &call) {
        const Tensor weight = call.weight("weight"), bias = call.weight("bias"), y = call.out("y");
        const int64_t length = y.dim(1), width = weight.dim(1);
        const auto activation = static_cast<Activation>(call.integer("activation"));
        const Steps steps(call);
        for (const int64_t r : call.wanted(y))
            for (int64_t c = 0; c < y.cols(); ++c) {
                double sum = bias ? bias.f32()[static_cast<size_t>(c)] : 0;
                for (int64_t k = 0; k < width; ++k)
                    sum += static_cast<double>(weight.row(c)[static_cast<size_t>(k)]) *
                           steps.at(r / length, r % length + k - (width - 1), c);
                y.row(r)[static_cast<size_t>(c)] = static_cast<float>(activate(activation, sum));
            }
        if (const Tensor before = call.state("before")) keep(call, steps, before);
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), weight = call.weight("weight");
        const bool serial = plan.variant == 1, kept = static_cast<bool>(call.state("before"));
        constexpr int64_t longest = 16; // more steps one after the other take longer than a second dispatch
        if (serial && x.dim(1) > longest)
            throw Unsupported("there are " + std::to_string(x.dim(1)) + " steps; expected at most " +
                              std::to_string(longest));
        if (serial && !kept) throw Unsupported("without a state the baseline is one dispatch, too");
        (void)u32(x.size()); // kernels count elements in 32 bits
        const struct { uint32_t batch, steps, channels; } push{u32(x.dim(0)), u32(x.dim(1)), u32(x.cols())};
        const Groups of_channels = plan.spread(ceil_div(x.dim(0) * x.cols(), 64));
        const lamina_ref of_x = plan.in("x"), position = plan.in("position"), before = plan.state("before"),
                         lengths = plan.in("lengths");
        const lamina_spec width{0, u32(weight.dim(1))}, has_lengths{1, static_cast<bool>(call.in("lengths"))},
            of_weight{2, dtype_of(weight)}, of_bias{3, dtype_of(call.weight("bias"))},
            activation{4, u32(call.integer("activation"))};
        if (serial)
            return plan.dispatch(
                lamina_kernels::causal_conv1d_serial, of_channels,
                {of_x, position, before, plan.weight("weight"), plan.weight("bias"), plan.out("y"), lengths}, push,
                {width, has_lengths, of_weight, of_bias, activation});
        plan.dispatch(lamina_kernels::causal_conv1d, plan.spread(ceil_div(x.size(), 64)),
                      {of_x, position, before, plan.weight("weight"), plan.weight("bias"), plan.out("y")}, push,
                      {width, {1, kept}, of_weight, of_bias, activation});
        if (kept)
            plan.dispatch(lamina_kernels::causal_conv1d_keep, of_channels, {of_x, position, before, lengths}, push,
                          {width, has_lengths});
    }

  private:
    // The state after as many steps as each sequence has.
    static void keep(const Call &call, const Steps &steps, const Tensor &before) {
        const Tensor lengths = call.in("lengths");
        for (int64_t b = 0; b < before.dim(0); ++b) {
            const int64_t taken = lengths ? lengths.i32()[static_cast<size_t>(b)] : call.in("x").dim(1);
            for (int64_t c = 0; c < before.cols(); ++c)
                for (int64_t k = 0; k < before.dim(1); ++k) // what is overwritten has been read
                    before.row(b * before.dim(1) + k)[static_cast<size_t>(c)] =
                        steps.at(b, taken + k - before.dim(1), c);
        }
    }
};

} // namespace

LAMINA_PLUGIN(CausalConv1d)
