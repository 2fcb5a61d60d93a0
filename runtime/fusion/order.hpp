// The order of steps when some of them become one.
#pragma once

#include "fusion/fusion.hpp"

#include <optional>
#include <span>
#include <vector>

namespace lamina::fusion {

// Steps in their order in the plan, or later if they take what a later match computes. A match is where its last step
// was, or later. Nothing if a match needs what takes its own results.
struct Place {
    bool is_match;
    size_t index; // of the step, or of the match
};
[[nodiscard]] std::optional<std::vector<Place>> order(const plan::GraphPlan &plan, std::span<const Match> matches);

} // namespace lamina::fusion
