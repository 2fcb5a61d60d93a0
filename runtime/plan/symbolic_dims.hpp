// The dims of a graph's tensors, in the names that its inputs give them.
#pragma once

#include "plan/graph_plan.hpp"

#include <map>
#include <string>

namespace lamina::plan {

// By the tensors' names ("encoder.0.attention"): "f32 (B S 160)". A size may be an expression, "2*S". Those behind a
// layer that nothing can make fit are missing.
[[nodiscard]] std::map<std::string, std::string> symbolic_dims(const model::Model &model, const model::Graph &graph,
                                                               const abi::Registry &plugins);

} // namespace lamina::plan
