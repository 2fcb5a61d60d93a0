#include "kernels.hpp"
#include "product.hpp"

namespace lamina::plugin::cpu_fallback {
void linear(const Call &call) {
    const Tensor added = call.in("residual");
    product(call.in("x").rows(), call.in("x").f32().data(), weight_rows(call, "weight"), call.weight("bias"),
            call.out("y").f32().data(), added ? added.f32().data() : nullptr);
}

} // namespace lamina::plugin::cpu_fallback
