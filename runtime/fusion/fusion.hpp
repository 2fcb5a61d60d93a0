// Fusions in a graph: where they fit, and the graph with some of them in place.
#pragma once

#include "abi/library.hpp"
#include "plan/graph_plan.hpp"

#include <functional>
#include <span>
#include <vector>

namespace lamina::fusion {

// A place where a fusion fits.
struct Match {
    std::vector<size_t> steps; // of the plan, by member of the fusion's pattern
    plan::Step fused;          // what can replace them
};

// All matches, those of the most steps first; those of one fusion have no step in common. `wanted` says which fusions
// to look for; null: all.
[[nodiscard]] std::vector<Match> find(const plan::GraphPlan &plan, const abi::Registry &plugins,
                                      const std::function<bool(const abi::Layer &)> &wanted = nullptr);

[[nodiscard]] bool overlap(const Match &a, const Match &b);

// The plan in which fusions replace the steps of these matches. Of matches that have a step in common, and where each
// would need the other's result, the earlier one counts.
[[nodiscard]] plan::GraphPlan fuse(const plan::GraphPlan &plan, std::span<const Match> matches);

} // namespace lamina::fusion
