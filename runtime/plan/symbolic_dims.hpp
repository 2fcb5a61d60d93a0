// The dims of a graph's tensors, in the names that its inputs give them.
#pragma once

#include "plan/graph_plan.hpp"

#include <map>
#include <string>

namespace lamina::plan {

// By the tensors' names ("encoder.0.attention"): "f32 (B S 160)". '?' is a size that is no name and no number, such as
// a product. Empty where the graph refuses the small sizes that this is found out by.
[[nodiscard]] std::map<std::string, std::string> symbolic_dims(const model::Model &model, const model::Graph &graph,
                                                               const abi::Registry &plugins);

} // namespace lamina::plan
