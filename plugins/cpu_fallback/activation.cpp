#include "arrays.hpp"
#include "kernels.hpp"
#include "threads.hpp"

#include <lamina/plugin/product_numbers.h>

#include <algorithm>
#include <cmath>

namespace lamina::plugin::cpu_fallback {
namespace {

// The last choices are those that only this layer has.
constexpr int64_t none = LAMINA_LAST_ACTIVATION, log1p_relu = none + 1, clamp = log1p_relu + 1;

void apply(const Call &call, float *values, int64_t n) {
    const int64_t choice = call.integer("activation");
    if (choice == log1p_relu)
        std::transform(values, values + n, values, [](float v) { return std::log1p(v < 0 ? 0 : v); });
    else if (choice == clamp)
        std::transform(values, values + n, values,
                       [low = static_cast<float>(call.real("low")),
                        high = static_cast<float>(call.real("high"))](float v) { return std::clamp(v, low, high); });
    else if (choice != none)
        activate(static_cast<uint32_t>(choice) + 1, values, n);
}

} // namespace

void activation(const Call &call) {
    const Tensor x = call.in("x"), times = call.in("times"), y = call.out("y");
    const auto within = static_cast<float>(call.real("scale")), factor = static_cast<float>(call.real("factor"));
    in_ranges(x.size(), part_values, [&](int64_t first, int64_t end) {
        float *const values = y.f32().data() + first;
        std::copy_n(x.f32().data() + first, end - first, values);
        if (within != 1) scale(values, end - first, 1 / within);
        apply(call, values, end - first);
        if (within != 1) scale(values, end - first, within);
        if (times) multiply(values, times.f32().data() + first, end - first);
        if (factor != 1) scale(values, end - first, factor);
    });
}

} // namespace lamina::plugin::cpu_fallback
