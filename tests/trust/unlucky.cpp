// y = 2 x, by a plugin to which something happens that is not its fault, as $LAMINA_TEST_UNLUCKY says: the process is
// "killed" while it is proved, "memory" runs out, or it "waits" for ever.
#include <lamina/plugin.hpp>

#include "unlucky.kernels.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>
#include <unistd.h>

namespace {
using namespace lamina::plugin;

void happen() {
    const char *variable = std::getenv("LAMINA_TEST_UNLUCKY");
    const std::string_view what = variable == nullptr ? "" : variable;
    if (what == "killed") std::raise(SIGKILL);
    if (what == "memory") throw std::bad_alloc();
    if (what != "waits") return;
    (void)!write(STDOUT_FILENO, "waiting\n", 8);
    for (;;) pause(); // which a signal interrupts
}

struct Unlucky {
    static constexpr auto id = "unlucky", summary = "2 x", source = "";
    static constexpr std::array inputs{input("x", "... C", "any tensor")};
    static constexpr std::array outputs{output("y", "... C", "2 x")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("one invocation per element")};
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{"C=1", "B=2 T=3 C=37"};

    static void reference(const Call &call) {
        happen();
        const Tensor x = call.in("x"), y = call.out("y");
        for (const int64_t r : call.wanted(y))
            std::ranges::transform(x.row(r), y.row(r).begin(), [](double v) { return static_cast<float>(2 * v); });
    }
    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct { uint32_t size, cols, wrong_from; } push{u32(x.size()), u32(x.cols()), u32(x.size())};
        plan.dispatch(lamina_kernels::doubling, {ceil_div(x.size(), 64)}, {plan.in("x"), plan.out("y")}, push,
                      {{0, 0}});
    }
};

} // namespace

LAMINA_PLUGIN(Unlucky)
