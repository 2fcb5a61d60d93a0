// y[t] = x[t] + x[t - 1], with the previous value kept in a state. One variant is wrong after more than three tokens in
// a cache of sixteen.
#include <lamina/plugin.hpp>

#include "wrong_when_later.kernels.hpp"

namespace {
using namespace lamina::plugin;

struct Previous {
    static constexpr auto id = "wrong_when_later", summary = "x + the token before", source = "";
    static constexpr std::array inputs{
        input("x", "B T C", "tokens"),
        indices("position", "B", "0 2147483647", "where a sequence's first token stands"),
    };
    static constexpr std::array outputs{output("y", "B T C", "tokens")};
    static constexpr std::array states{optional(state("seen", "B M C", "M", "the tokens so far"))};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("right"), variant("fast", "wrong", 0)};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"B=1 T=1 C=1 position=zeros", "B=2 T=2 C=5 M=9 +seen position=zeros"};

    static int64_t position(const Call &call, int64_t b) {
        return call.state("seen") ? call.in("position").i32()[static_cast<size_t>(b)] : 0;
    }
    static void reference(const Call &call) {
        const Tensor in = call.in("x"), state = call.state("seen");
        const auto x = in.f32(), y = call.out("y").f32();
        const int64_t length = in.dim(1), cols = in.dim(2), kept_rows = state ? state.dim(1) : 0;
        for (int64_t i = 0; i < in.size(); ++i) {
            const int64_t c = i % cols, t = i / cols % length, b = i / cols / length, at = position(call, b) + t;
            const auto kept = [&](int64_t row) -> float & {
                return state.f32()[static_cast<size_t>((b * kept_rows + row) * cols + c)];
            };
            double before = 0;
            if (t > 0)
                before = x[static_cast<size_t>(i - cols)];
            else if (at > 0 && at <= kept_rows)
                before = kept(at - 1);
            if (at < kept_rows) kept(at) = x[static_cast<size_t>(i)];
            y[static_cast<size_t>(i)] = static_cast<float>(x[static_cast<size_t>(i)] + before);
        }
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), seen = call.state("seen");
        const struct {
            uint32_t size, tokens, cols, kept, wrong_from;
        } push{u32(x.size()), u32(x.dim(1)), u32(x.dim(2)), seen ? u32(seen.dim(1)) : 0,
               plan.variant != 0 && seen && seen.dim(1) == 16 ? 3U : 0x7fffffffU};
        const Groups groups{ceil_div(x.size(), 64)};
        plan.dispatch(lamina_kernels::previous, groups,
                      {plan.in("x"), plan.in("position"), plan.out("y"), plan.state("seen")}, push);
        const struct { uint32_t size, tokens, cols, kept; } keep{push.size, push.tokens, push.cols, push.kept};
        if (seen)
            plan.dispatch(lamina_kernels::keep, groups, {plan.in("x"), plan.in("position"), plan.state("seen")}, keep);
    }
};

} // namespace

LAMINA_PLUGIN(Previous)
