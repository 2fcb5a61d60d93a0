// Which variant computes a step on a device.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/layer_plan.hpp"

#include <string_view>

namespace lamina::vulkan {

struct ChosenVariant {
    uint32_t variant = 0; // index into the contract's list
    plan::LayerPlan plan;
};

// The variant called `wanted`; or, when that is empty, the first of the contract that does these shapes on this device.
// Throws Error(input) when the wanted one does not exist or does not fit, Error(no_device) when none fits: with
// reasons.
[[nodiscard]] ChosenVariant choose_variant(const plan::Step &step, const plan::Kernels &kernels,
                                           const lamina_device &device, std::string_view wanted);

} // namespace lamina::vulkan
