#include "kernels.hpp"
#include "product.hpp"

namespace lamina::plugin::cpu_fallback {
namespace {

// The contract's order: plugins/linear/linear.cpp.
enum In : uint32_t { x };
enum Weight : uint32_t { weight, bias };
enum Out : uint32_t { y };

} // namespace

void linear(const CpuCall &call) {
    product(call.in(x).rows(), call.in(x).f32().data(), call.weight(weight), call.weight(bias),
            call.out(y).f32().data());
}

} // namespace lamina::plugin::cpu_fallback
