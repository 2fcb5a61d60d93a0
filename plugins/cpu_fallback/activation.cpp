#include "arrays.hpp"
#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>

namespace lamina::plugin::cpu_fallback {

void activation(const Call &call) {
    const Tensor x = call.in("x"), times = call.in("times"), y = call.out("y");
    const auto of = static_cast<uint32_t>(call.integer("activation") + 1); // the contract has no LAMINA_NONE
    const auto factor = static_cast<float>(call.real("scale"));
    in_ranges(x.size(), part_values, [&](int64_t first, int64_t end) {
        float *const values = y.f32().data() + first;
        std::copy_n(x.f32().data() + first, end - first, values);
        if (factor != 1) scale(values, end - first, 1 / factor);
        activate(of, values, end - first);
        if (factor != 1) scale(values, end - first, factor);
        if (times) multiply(values, times.f32().data() + first, end - first);
    });
}

} // namespace lamina::plugin::cpu_fallback
