// The dtypes and dims of a graph's tensors, in the names that its inputs give them.
#pragma once

#include "plan/graph_plan.hpp"

#include <map>
#include <string>

namespace lamina::plan {

struct SymbolicType {
    DType dtype = DType::f32;
    std::string dims; // "B S 160"; a size may be an expression, "2*S"
};
using SymbolicTypes = std::map<std::string, SymbolicType>; // by the tensors' names ("encoder.0.attention")

// Tensors after a layer that cannot fit are missing.
[[nodiscard]] SymbolicTypes symbolic_types(const model::Model &model, const model::Graph &graph,
                                           const abi::Registry &plugins);

} // namespace lamina::plan
