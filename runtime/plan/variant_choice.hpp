// Chooses the variant that computes a step on a device.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/layer_plan.hpp"

#include <string_view>

namespace lamina::plan {

struct ChosenVariant {
    uint32_t variant = 0; // index into the contract's list
    LayerPlan plan;
};

// The variant `wanted`; or, if that is empty, the first one of the contract that handles these shapes on this device.
// Throws Error(input) if the wanted one does not exist or does not fit, Error(no_device) with reasons if none fits.
[[nodiscard]] ChosenVariant choose_variant(const Step &step, const Kernels &kernels, const lamina_device &device,
                                           std::string_view wanted);

// The same variant, planned for a device whose grids are so short along x that its own fold over y. Unchanged if it
// cannot be planned for such a device.
[[nodiscard]] ChosenVariant folded(const Step &step, const Kernels &kernels, lamina_device device,
                                   ChosenVariant chosen);

} // namespace lamina::plan
