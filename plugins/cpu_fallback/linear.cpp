#include "kernels.hpp"
#include "product.hpp"

namespace lamina::plugin::cpu_fallback {

template <int XDigits> void linear(const Call &call) {
    const Tensor added = call.in("residual");
    product(call.in("x").rows(), call.in("x").f32().data(), weight_rows(call, "weight", XDigits), call.weight("bias"),
            call.out("y").f32().data(), added ? added.f32().data() : nullptr);
}
template void linear<1>(const Call &call);
template void linear<2>(const Call &call);
template void linear<3>(const Call &call);

} // namespace lamina::plugin::cpu_fallback
