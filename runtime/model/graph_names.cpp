#include "model/graph_names.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <filesystem>

namespace lamina::model {
namespace {

size_t rank_of(const GraphInput &input) {
    return static_cast<size_t>(std::count(input.dims.begin(), input.dims.end(), ' ')) + 1;
}

} // namespace

const GraphInput *find_input(const Graph &graph, const std::string &name) {
    const auto found =
        std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput &i) { return i.name == name; });
    return found == graph.inputs.end() ? nullptr : &*found;
}

const Graph &graph_at(JsonView name, const Model &model) {
    const auto found = model.graphs.find(name.string());
    if (found == model.graphs.end())
        name.fail("no graph " + in_quotes(name.string()) + instead_of(name.string(), names_of(model.graphs)));
    return found->second;
}

std::string input_at(JsonView name, const Graph &graph, DType dtype, size_t rank, const char *dims) {
    const GraphInput *input = find_input(graph, std::string(name.string()));
    if (input == nullptr) {
        std::vector<std::string> known;
        for (const GraphInput &i : graph.inputs) known.push_back(i.name);
        name.fail("the graph '" + graph.name + "' has no input " + in_quotes(name.string()) +
                  instead_of(name.string(), known));
    }
    if (input->dtype != dtype || rank_of(*input) != rank)
        name.fail("expected an input of " + std::string(name_of(dtype)) + " with dims like \"" + dims + "\"; '" +
                  input->name + "' is " + name_of(input->dtype) + " \"" + input->dims + "\"");
    return input->name;
}

std::string output_at(JsonView name, const Graph &graph) {
    std::string output(name.string());
    if (!graph.outputs.contains(output))
        name.fail("the graph '" + graph.name + "' has no output " + in_quotes(name.string()) +
                  instead_of(name.string(), names_of(graph.outputs)));
    return output;
}

void check_all_set(JsonView place, const Graph &graph, const std::vector<std::string> &set) {
    for (const GraphInput &input : graph.inputs)
        if (std::find(set.begin(), set.end(), input.name) == set.end())
            place.fail("nothing gives the input '" + input.name + "' of the graph '" + graph.name + "' a value");
}

std::string file_at(JsonView value) {
    std::string file(value.string());
    const std::filesystem::path path = file;
    const bool inside = path.filename() == path && file != ".." && file.find('\0') == std::string::npos;
    if (!inside || file.empty())
        value.fail("expected the name of a file in the model folder, found " + in_quotes(file));
    return file;
}

} // namespace lamina::model
