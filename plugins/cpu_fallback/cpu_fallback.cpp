// The executor behind the device `cpu`: every layer by its reference, the matrix-bound ones by OpenBLAS.
#include "kernels.hpp"

namespace {
using namespace lamina::plugin;

struct CpuFallback {
    static constexpr auto id = "cpu_fallback";
    static constexpr auto summary = "layers on the CPU: matrix products by OpenBLAS, all else by the references";
    static constexpr std::array kernels{
        cpu_kernel<cpu_fallback::attention>("attention"),
        cpu_kernel<cpu_fallback::feed_forward>("feed_forward"),
        cpu_kernel<cpu_fallback::linear>("linear"),
    };
};

} // namespace

LAMINA_EXECUTOR(CpuFallback)
