// When each activation of a graph is needed: what the arena is laid out by.
#pragma once

#include "plan/arena.hpp"
#include "plan/graph_plan.hpp"

#include <vector>

namespace lamina::plan {

// One a tensor of the plan, in its order; bytes 0 for what is not an activation. From the step that writes a tensor to
// the last that reads it, or to the end where it is an output of the graph or everything is kept.
[[nodiscard]] std::vector<Lifetime> lifetimes_of(const GraphPlan &plan, bool keep_all);

} // namespace lamina::plan
