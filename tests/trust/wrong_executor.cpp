// An executor whose kernels are wrong on purpose: one for softmax, and one for a log_softmax with a different contract.
#include <lamina/plugin/executor.hpp>

#include <algorithm>

namespace {
using namespace lamina::plugin;

void zeros(const Call &call) { std::ranges::fill(call.out("y").f32(), 0.0F); }

struct WrongExecutor {
    static constexpr auto id = "wrong_executor", summary = "zeros";
    static constexpr std::array kernels{cpu_kernel<zeros>("softmax", "x: ... C -> y: ... C"),
                                        cpu_kernel<zeros>("log_softmax", "x: ... C, bias?: C -> y: ... C")};
};

} // namespace

LAMINA_EXECUTOR(WrongExecutor)
