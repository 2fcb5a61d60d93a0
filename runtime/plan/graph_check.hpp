// Whether a graph can run at all, for any sizes of its inputs.
#pragma once

#include "plan/graph_plan.hpp"

namespace lamina::plan {

// Throws what a run would throw, where a graph fails whatever its inputs' sizes are: a parameter out of its range, a
// weight of the wrong shape. A graph that some sizes might suit passes.
void check_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins);

} // namespace lamina::plan
