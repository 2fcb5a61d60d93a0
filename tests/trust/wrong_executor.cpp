// An executor whose kernels are wrong on purpose: one for softmax, one for a log_softmax with a different contract, one
// for linear that is less exact than others, and one that is wrong in a single row of many, which its first input value
// names.
#include <lamina/plugin/executor.hpp>

#include <algorithm>

namespace {
using namespace lamina::plugin;

void zeros(const Call &call) { std::ranges::fill(call.out("y").f32(), 0.0F); }

void planted(const Call &call) {
    const Tensor x = call.in("x"), y = call.out("y");
    for (int64_t r = 0; r < x.rows(); ++r) {
        const bool wrong = x.rows() >= 1000 && static_cast<float>(r) == x.f32()[0];
        std::ranges::transform(x.row(r), y.row(r).begin(), [&](float v) { return (wrong ? 3 : 2) * v; });
    }
}

struct WrongExecutor {
    static constexpr auto id = "wrong_executor", summary = "zeros";
    static constexpr std::array kernels{
        cpu_kernel<zeros>("softmax", "x: ... C -> y: ... C"),
        cpu_kernel<zeros>("log_softmax", "x: ... C, bias?: C -> y: ... C"),
        cpu_kernel<zeros>("linear", "x: ... K, residual?: ... N; weight: N K, bias?: N -> y: ... N", LAMINA_Q8_0,
                          LAMINA_Q8_0),
        cpu_kernel<planted>("planted", "x: ... C; table: N K -> y: ... C")};
};

} // namespace

LAMINA_EXECUTOR(WrongExecutor)
