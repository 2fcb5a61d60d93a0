// y = 2 x, with a wrong variant: always wrong; wrong only for long rows, or when specialized for many rows, which its
// own cases do not cover; or always wrong and unable to run any of its cases.
#include <lamina/plugin.hpp>

#include LAYER_KERNELS

namespace {
using namespace lamina::plugin;

struct Doubling {
#ifdef LAYER_wrong_always
    static constexpr auto id = "wrong_always";
    static constexpr uint32_t wrong_from = 0;
#elif defined LAYER_never_proved
    static constexpr auto id = "never_proved";
    static constexpr uint32_t wrong_from = 0;
#elif defined LAYER_wrong_when_many
    static constexpr auto id = "wrong_when_many";
    static constexpr uint32_t wrong_from = 0x7fffffff;
#else
    static constexpr auto id = "wrong_when_long";
    static constexpr uint32_t wrong_from = 100;
#endif
    static constexpr auto summary = "2 x", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::array outputs{output("y", "... C", "2 x")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("right"), variant("fast", "wrong", 0)};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1", "B=2 T=3 C=37"};

    static void reference(const Call &call) {
        const auto x = call.in("x").f32(), y = call.out("y").f32();
        for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<float>(2.0 * x[i]);
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        if (std::string_view(id) == "never_proved" && plan.variant != 0 && x.cols() < 64)
            throw Unsupported("rows of 64 and more");
        const struct {
            uint32_t size, cols, wrong_from;
        } push{u32(x.size()), u32(x.cols()), plan.variant == 0 ? u32(x.cols()) : wrong_from};
        const bool many = std::string_view(id) == "wrong_when_many" && plan.variant != 0 && x.rows() >= 512;
        plan.dispatch(lamina_kernels::doubling, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, push,
                      {{0, many ? 1u : 0u}});
    }
};

} // namespace

LAMINA_PLUGIN(Doubling)
