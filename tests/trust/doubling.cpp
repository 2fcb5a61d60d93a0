// y = 2 x, with a wrong variant: always wrong; wrong only for long rows, when specialized for many rows, or beyond
// 100,000 elements, which its own cases do not cover; or always wrong and unable to run any of its cases. Or both
// variants are always wrong, or the reference is: it computes some rows other than among all.
#include <lamina/plugin.hpp>

#include LAYER_KERNELS

#include <algorithm>

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
#elif defined LAYER_wrong_when_large
    static constexpr auto id = "wrong_when_large";
    static constexpr uint32_t wrong_from = 100'000;
#elif defined LAYER_wrong_reference
    static constexpr auto id = "wrong_reference";
    static constexpr uint32_t wrong_from = 0x7fffffff;
#elif defined LAYER_wrong_everywhere
    static constexpr auto id = "wrong_everywhere";
    static constexpr uint32_t wrong_from = 0;
#else
    static constexpr auto id = "wrong_when_long";
    static constexpr uint32_t wrong_from = 100;
#endif
    static constexpr auto summary = "2 x", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::string_view name{id};
    static constexpr std::array outputs{(name == "wrong_when_large") || (name == "wrong_reference")
                                            ? by_rows(output("y", "... C", "2 x"))
                                            : output("y", "... C", "2 x")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("right"), variant("fast", "wrong", 0)};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1", "B=2 T=3 C=37"};

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), y = call.out("y");
        int64_t computed = 0;
        for (const int64_t r : call.wanted(y)) {
            const auto from = x.row((name == "wrong_reference") ? computed : r);
            std::ranges::transform(from, y.row(r).begin(), [](double v) { return static_cast<float>(2 * v); });
            ++computed;
        }
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        if ((name == "never_proved") && plan.variant != 0 && x.cols() < 64) throw Unsupported("rows of 64 and more");
        const struct {
            uint32_t size, cols, wrong_from;
        } push{u32(x.size()), u32((name == "wrong_when_large") ? x.size() : x.cols()),
               plan.variant == 0 && name != "wrong_everywhere" ? u32(x.size()) : wrong_from};
        const bool many = (name == "wrong_when_many") && plan.variant != 0 && x.rows() >= 512;
        plan.dispatch(lamina_kernels::doubling, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, push,
                      {{0, many ? 1u : 0u}});
    }
};

} // namespace

LAMINA_PLUGIN(Doubling)
