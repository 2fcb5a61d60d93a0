// Chooses the variant that computes a step on a device.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/layer_plan.hpp"

#include <optional>
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

// The same variant, planned for a device whose bindings are so small that weights do not fit into one, and are bound in
// parts: in as many as a few dispatches allow. Nothing if no limit makes the plan bind a weight in parts.
[[nodiscard]] std::optional<ChosenVariant> in_parts(const abi::LayerCall &call, const Kernels &kernels,
                                                    const lamina_device &device, const ChosenVariant &chosen);

} // namespace lamina::plan
