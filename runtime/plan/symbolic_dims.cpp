#include "plan/symbolic_dims.hpp"

#include "plan/graph_walk.hpp"

namespace lamina::plan {

std::map<std::string, std::string> symbolic_dims(const model::Model &model, const model::Graph &graph,
                                                 const abi::Registry &plugins) {
    abi::Solver solver;
    std::optional<GraphWalk> walk;
    try {
        walk.emplace(model, graph, plugins, solver, open_inputs(model, graph, plugins, solver));
        while (walk->next()) {
        }
    } catch (const Error &) { // whoever checks the graph says what is wrong
    }
    std::map<std::string, std::string> out;
    if (!walk) return out;
    for (const WalkedTensor &tensor : walk->tensors()) {
        std::string dims;
        for (const abi::Size &size : tensor.type.shape) dims += (dims.empty() ? "" : " ") + solver.text(size);
        out[tensor.name] = std::string(lamina::name_of(tensor.type.dtype)) + " (" + dims + ")";
    }
    return out;
}

} // namespace lamina::plan
