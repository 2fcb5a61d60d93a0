// Checks whether a graph can run at all, for some sizes of its inputs.
#pragma once

#include "plan/graph_plan.hpp"

namespace lamina::plan {

// Throws what a run would throw if the graph fails for all sizes of its inputs: a parameter out of range, a weight of
// the wrong shape. A graph that may run with some sizes passes.
void check_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins);

} // namespace lamina::plan
