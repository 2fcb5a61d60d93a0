#include "kernels.hpp"
#include "product.hpp"

namespace lamina::plugin::cpu_fallback {
void linear(const Call &call) {
    product(call.in("x").rows(), call.in("x").f32().data(), call.weight("weight"), call.weight("bias"),
            call.out("y").f32().data());
}

} // namespace lamina::plugin::cpu_fallback
