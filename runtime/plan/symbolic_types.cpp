#include "plan/symbolic_types.hpp"

#include "plan/graph_walk.hpp"

namespace lamina::plan {

SymbolicTypes symbolic_types(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    abi::Solver solver;
    std::optional<GraphWalk> walk;
    try {
        walk.emplace(model, graph, plugins, solver, open_inputs(model, graph, plugins, solver));
        while (walk->next()) {
        }
    } catch (const Error &) { // checking the graph reports the error
    }
    SymbolicTypes out;
    if (!walk) return out;
    for (const WalkedTensor &tensor : walk->tensors()) {
        SymbolicType &type = out[tensor.name];
        type.dtype = tensor.type.dtype;
        for (const abi::Size &size : tensor.type.shape) type.dims += (type.dims.empty() ? "" : " ") + solver.text(size);
    }
    return out;
}

} // namespace lamina::plan
