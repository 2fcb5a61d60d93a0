// Chooses the variant that computes a step on a device.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/planner.hpp"
#include "plan/program.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace lamina::plan {

struct ChosenVariant {
    uint32_t variant = 0; // index into the contract's list
    std::shared_ptr<const LayerPlan> plan;
};

// For each step the variant that the options name; or, if they name none, the first one of the contract that handles
// its shapes on this device. Options that make plans fold or bind parts are heeded. Throws Error(input) if a wanted
// variant does not exist or does not fit, Error(no_device) with reasons if none fits.
[[nodiscard]] std::vector<ChosenVariant> choose_variants(const GraphPlan &plan, Planner &planner,
                                                         const ProgramOptions &options);

// The same variant, planned for a device whose bindings are so small that weights do not fit into one, and are bound in
// parts: in as many as a few dispatches allow. Nothing if no limit makes the plan bind a weight in parts.
[[nodiscard]] std::optional<ChosenVariant> in_parts(const abi::LayerCall &call, Planner &planner,
                                                    const ChosenVariant &chosen);

} // namespace lamina::plan
