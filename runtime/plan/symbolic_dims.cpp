#include "plan/symbolic_dims.hpp"

#include "plan/graph_sizes.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

namespace lamina::plan {
namespace {

using Sizes = std::map<std::string, int64_t, std::less<>>;

std::vector<std::string> words(const std::string &text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

// Names that are no choice: of what a decoder is given by its encoder, those axes that have one size there.
Sizes fixed_sizes(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    const auto &g = model.generation;
    if (!g || g->encode.empty() || graph.name != g->decode) return {};
    const model::Graph &encode = model.graphs.at(g->encode);
    const auto given = symbolic_dims(model, encode, plugins);
    Sizes out;
    for (const model::GraphInput &input : graph.inputs) {
        const auto output = encode.outputs.find(input.name);
        if (output == encode.outputs.end()) continue;
        std::string dims = given.at(output->second);
        std::erase_if(dims, [](char c) { return c == '(' || c == ')'; });
        const std::vector<std::string> sizes = words(dims), names = words(input.dims); // "f32 B S 160", "B S C"
        for (size_t axis = 0; axis < names.size() && axis + 1 < sizes.size(); ++axis)
            if (std::isdigit(static_cast<unsigned char>(sizes[axis + 1][0])) != 0 &&
                std::isdigit(static_cast<unsigned char>(names[axis][0])) == 0)
                out[names[axis]] = std::stoll(sizes[axis + 1]);
    }
    return out;
}

// Planned with name i at size i + `first`, and others at the size of the name that stands for them.
GraphPlan plan_with(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                    const GraphSizes &sizes, const std::vector<std::string> &names, const Sizes &fixed, int64_t first) {
    abi::Dims dims;
    dims.values = fixed;
    for (size_t i = 0; i < names.size(); ++i) dims.values[names[i]] = first + static_cast<int64_t>(i);
    for (const auto &[name, standing] : sizes.stands_for) dims.values.try_emplace(name, dims.values.at(standing));
    GraphShapes shapes;
    for (const model::GraphInput &input : graph.inputs)
        shapes.inputs[input.name] = {input.dtype, abi::instantiate(input.dims, dims, input.name)};
    return plan_graph(model, graph, plugins, shapes);
}

} // namespace

// Planned twice: a size that stays is a number, and one that grows as a name's does is that name.
std::map<std::string, std::string> symbolic_dims(const model::Model &model, const model::Graph &graph,
                                                 const abi::Registry &plugins) {
    const GraphSizes sizes = graph_sizes(model, graph, plugins);
    Sizes fixed = sizes.fixed;
    fixed.merge(fixed_sizes(model, graph, plugins));
    std::vector<std::string> names;
    for (const model::GraphInput &input : graph.inputs)
        for (const std::string &name : abi::names_in(input.dims))
            if (sizes.stands_for.at(name) == name && !fixed.contains(name) &&
                std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    std::map<std::string, std::string> out;
    try {
        const GraphPlan small = plan_with(model, graph, plugins, sizes, names, fixed, 1),
                        larger = plan_with(model, graph, plugins, sizes, names, fixed, 2);
        for (size_t t = 0; t < small.tensors.size(); ++t) {
            const PlannedTensor &tensor = small.tensors[t];
            std::string dims;
            for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
                const int64_t a = tensor.type.shape[axis], b = larger.tensors[t].type.shape[axis];
                const bool named = b == a + 1 && a <= static_cast<int64_t>(names.size());
                dims += (axis != 0 ? " " : "") + (a == b  ? std::to_string(a)
                                                  : named ? names[static_cast<size_t>(a - 1)]
                                                          : "?");
            }
            out[tensor.name] = std::string(lamina::name_of(tensor.type.dtype)) + " (" + dims + ")";
        }
    } catch (const Error &) {
        out.clear();
    }
    return out;
}

} // namespace lamina::plan
