#include "plan/graph_check.hpp"

#include "plan/graph_walk.hpp"

#include <set>

namespace lamina::plan {
namespace {

// Sizes to try in a plugin's check, which may require a small size, a multiple of something, or a size that it already
// has.
std::set<int64_t> sizes_to_try(const abi::OpenCall &call, const abi::Solver &solver) {
    std::set<int64_t> out{1, 2, 3, 4, 8, 64, 100, 720, 4096, 5040};
    for (const double param : call.params())
        if (param >= 1 && param <= 1 << 20) out.insert(static_cast<int64_t>(param));
    for (const abi::PortList list : abi::port_lists)
        for (const abi::OpenType &type : call.types(list))
            for (const abi::Size &size : type.shape)
                if (const auto number = solver.resolve(size).number()) out.insert(*number);
    return out;
}

std::set<abi::Unknown> unknowns_of(const abi::OpenCall &call, const abi::Solver &solver) {
    std::set<abi::Unknown> out;
    for (const abi::PortList list : abi::port_lists)
        for (const abi::OpenType &type : call.types(list))
            for (const abi::Size &size : type.shape) {
                const abi::Size resolved = solver.resolve(size);
                for (const abi::Product &product : resolved.products())
                    out.insert(product.unknowns.begin(), product.unknowns.end());
            }
    return out;
}

// The call with one unknown set to size_of_one and all others to size_of_others; none if these sizes are impossible.
std::optional<abi::LayerCall> made_up(const abi::OpenCall &call, abi::Solver solver,
                                      const std::set<abi::Unknown> &unknowns, abi::Unknown one, int64_t size_of_one,
                                      int64_t size_of_others) {
    try {
        for (const abi::Unknown unknown : unknowns) {
            const abi::Size size(abi::Product{{unknown}});
            if (solver.resolve(size).is_known()) continue; // determined by the others
            if (!solver.equate(size, unknown == one ? size_of_one : size_of_others)) return std::nullopt;
        }
        return abi::LayerCall(call, solver);
    } catch (const Error &) {
        return std::nullopt;
    }
}

// Calls the plugin's own check with the sizes, if all are known. Otherwise it tries made-up sizes, in which each
// unknown in turn is smaller than, larger than or equal to the others. If all of these are refused, the graph is
// considered wrong for any sizes.
void ask_plugin(const abi::OpenCall &call, const abi::Solver &solver) {
    const std::set<abi::Unknown> unknowns = unknowns_of(call, solver);
    if (unknowns.empty()) return abi::LayerCall(call, solver).check();
    const std::set<int64_t> sizes = sizes_to_try(call, solver);
    std::optional<Error> refusal;
    for (const int64_t size_of_others : sizes)
        for (const int64_t size_of_one : sizes)
            for (const abi::Unknown one : unknowns) {
                const auto known = made_up(call, solver, unknowns, one, size_of_one, size_of_others);
                if (!known) continue;
                try {
                    return known->check();
                } catch (const Error &e) {
                    if (!refusal) refusal = e;
                }
            }
    if (refusal) throw Error(*refusal);
}

} // namespace

// Walks the graph twice. The first walk learns what the layers say about the inputs' sizes, and ends at a
// contradiction. The second walk knows these sizes from the beginning, like a run, and reports the contradiction as an
// error.
void check_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    abi::Solver solver;
    const GraphWalk::Inputs inputs = open_inputs(model, graph, plugins, solver);
    try {
        GraphWalk walk(model, graph, plugins, solver, inputs);
        while (walk.next()) {
        }
    } catch (const Error &) {
    }
    GraphWalk walk(model, graph, plugins, solver, inputs);
    while (const auto step = walk.next()) ask_plugin(step->call, solver);
    (void)walk.outputs();
}

} // namespace lamina::plan
