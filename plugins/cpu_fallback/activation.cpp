#include "arrays.hpp"
#include "kernels.hpp"
#include "threads.hpp"

#include <lamina/plugin/product_numbers.h>

#include <algorithm>

namespace lamina::plugin::cpu_fallback {

void activation(const Call &call) {
    const Tensor x = call.in("x"), times = call.in("times"), y = call.out("y");
    const auto choice = static_cast<uint32_t>(call.integer("activation")); // LAMINA_NONE is the last one here
    const uint32_t of = choice == LAMINA_LAST_ACTIVATION ? LAMINA_NONE : choice + 1;
    const auto within = static_cast<float>(call.real("scale")), factor = static_cast<float>(call.real("factor"));
    in_ranges(x.size(), part_values, [&](int64_t first, int64_t end) {
        float *const values = y.f32().data() + first;
        std::copy_n(x.f32().data() + first, end - first, values);
        if (within != 1) scale(values, end - first, 1 / within);
        activate(of, values, end - first);
        if (within != 1) scale(values, end - first, within);
        if (times) multiply(values, times.f32().data() + first, end - first);
        if (factor != 1) scale(values, end - first, factor);
    });
}

} // namespace lamina::plugin::cpu_fallback
