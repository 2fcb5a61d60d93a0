#include "model/graph_reader.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/plugin.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <sstream>

namespace lamina::model {
namespace {

constexpr int64_t most_repeats = 1024;
constexpr size_t most_layers = 65536; // in a model, unrolled
constexpr size_t most_entries = 64;   // in a layer's inputs, params and weights; limits what a repeat multiplies
constexpr size_t longest_name = 256;

// The value of {i} in names: the index of a repeat, or "" outside of one.
std::string with_index(std::string text, const std::string &index) {
    constexpr std::string_view placeholder = "{i}";
    if (index.empty()) return text;
    for (size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at))
        text.replace(at, placeholder.size(), index);
    return text;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "B S 160": names and numbers, one per axis.
std::string read_dims(JsonView value) {
    std::istringstream tokens{std::string(value.string())};
    std::string token, out;
    size_t rank = 0;
    while (tokens >> token) {
        const bool number = std::all_of(token.begin(), token.end(), is_digit) && token.size() <= 9;
        const bool name = is_letter(token[0]) &&
                          std::all_of(token.begin(), token.end(), [](char c) { return is_letter(c) || is_digit(c); });
        if (!number && !name) value.fail("expected names and numbers, like \"B T 160\", found " + in_quotes(token));
        out += (out.empty() ? "" : " ") + token;
        ++rank;
    }
    if (rank == 0 || rank > LAMINA_MAX_RANK)
        value.fail("expected 1 to " + std::to_string(LAMINA_MAX_RANK) + " axes, found " + std::to_string(rank));
    return out;
}

std::vector<GraphInput> read_inputs(JsonView value) {
    std::vector<GraphInput> inputs;
    for (const JsonView input : value.members()) {
        const std::string name(input.key());
        check_name(name, input);
        input.allow_keys({"dtype", "dims"});
        const std::string_view dtype = input.at("dtype").string();
        if (dtype != "f32" && dtype != "i32")
            input.at("dtype").fail("expected \"f32\" or \"i32\", found " + in_quotes(dtype));
        inputs.push_back({name, dtype == "f32" ? DType::f32 : DType::i32, read_dims(input.at("dims"))});
    }
    if (inputs.empty()) value.fail("a graph needs an input");
    return inputs;
}

// The entries of a layer's optional "inputs", "params" or "weights".
std::vector<JsonView> entries(JsonView layer, const char *key) {
    if (!layer.has(key)) return {};
    const JsonView::Range members = layer.at(key).members();
    if (members.size() > most_entries) layer.at(key).fail("more than " + std::to_string(most_entries) + " entries");
    return {members.begin(), members.end()};
}

abi::ParamValue read_param(JsonView value) {
    if (value.is_boolean()) return value.boolean();
    if (value.is_number()) return value.number();
    if (value.is_string()) return std::string(value.string());
    value.fail("expected a number, a string, true or false, found " + value.description());
}

} // namespace

void check_name(const std::string &name, JsonView place) {
    const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; };
    if (!name.empty() && name.size() <= longest_name && std::all_of(name.begin(), name.end(), allowed)) return;
    const bool stray_index = name.find("{i}") != std::string::npos;
    place.fail(in_quotes(name) + " cannot be a name: expected 1 to " + std::to_string(longest_name) +
               " letters, digits, '_', '-' and '.'" + (stray_index ? "; {i} belongs in a repeat" : ""));
}

// What names refer to at one place of a graph: their latest bindings.
struct GraphReader::Scope {
    std::set<std::string, std::less<>> inputs, layers;
    std::map<std::string, std::string, std::less<>> variables; // to a layer
    std::string previous;                                      // layer

    // The tensor that a name stands for: a graph input, a layer, or LAYER.PORT.
    [[nodiscard]] std::string resolve(const std::string &name, JsonView place) const {
        if (const auto variable = variables.find(name); variable != variables.end()) return variable->second;
        if (inputs.contains(name) || layers.contains(name)) return name;
        const size_t dot = name.rfind('.');
        if (dot != std::string::npos && dot + 1 < name.size() && layers.contains(name.substr(0, dot))) return name;
        std::vector<std::string> known = names_of(variables);
        for (const auto *more : {&inputs, &layers}) known.insert(known.end(), more->begin(), more->end());
        place.fail("no tensor " + in_quotes(name) + " here" + instead_of(name, known));
    }

    void bind(const std::string &variable, const std::string &layer, JsonView place) {
        check_name(variable, place);
        if (inputs.contains(variable)) place.fail("'" + variable + "' is an input of the graph; choose another name");
        if (layers.contains(variable)) place.fail("'" + variable + "' is the name of a layer; choose another name");
        variables[variable] = layer;
    }
};

std::string GraphReader::weight(JsonView value, const std::string &index) const {
    const std::string name = with_index(std::string(value.string()), index);
    if (weights_->entries().contains(name)) return name;
    if (const auto other = weights_->others().find(name); other != weights_->others().end())
        value.fail("tensor " + in_quotes(name) + " is " + other->second.dtype + "; expected " +
                   plugin::dtype_names(plugin::weight_dtypes | LAMINA_I32));
    if (weights_->file().empty())
        value.fail("no tensor " + in_quotes(name) + ": there is no model.safetensors beside model.json");
    value.fail("no tensor " + in_quotes(name) + " in " + weights_->file().filename().string() +
               instead_of(name, names_of(weights_->entries())));
}

void GraphReader::read_layer(JsonView value, const std::string &index, Scope &scope, Graph &graph) {
    value.allow_keys({"name", "type", "inputs", "params", "weights", "as"});
    Node node;
    node.place = value.place();
    node.name = with_index(std::string(value.at("name").string()), index);
    node.type = value.at("type").string();
    check_name(node.name, value.at("name"));
    check_name(node.type, value.at("type"));
    if (scope.inputs.contains(node.name)) value.at("name").fail("'" + node.name + "' is an input of the graph");
    if (scope.variables.contains(node.name)) value.at("name").fail("'" + node.name + "' already names a tensor");
    if (!layers_.insert(node.name).second)
        value.at("name").fail("a second layer called '" + node.name + "'" +
                              (index.empty() ? "" : "; write {i} where the number of the repeat belongs"));
    if (layers_.size() > most_layers) value.fail("more than " + std::to_string(most_layers) + " layers");

    if (!scope.previous.empty()) node.inputs[""] = scope.previous;
    for (const JsonView tensor : entries(value, "inputs")) {
        const std::string port(tensor.key());
        if (port.empty()) tensor.fail("expected the name of an input of the layer, found an empty one");
        node.inputs[port] = scope.resolve(with_index(std::string(tensor.string()), index), tensor);
    }
    if (node.inputs.empty()) value.fail("the first layer of a graph has no layer before it: name its \"inputs\"");
    for (const JsonView param : entries(value, "params")) node.params[std::string(param.key())] = read_param(param);
    for (const JsonView tensor : entries(value, "weights"))
        node.weights[std::string(tensor.key())] = weight(tensor, index);

    scope.layers.insert(node.name);
    if (value.has("as")) scope.bind(with_index(std::string(value.at("as").string()), index), node.name, value.at("as"));
    scope.previous = node.name;
    graph.nodes.push_back(std::move(node));
}

void GraphReader::read_repeat(JsonView value, Scope &scope, Graph &graph) {
    value.allow_keys({"repeat", "layers"});
    const int64_t times = value.at("repeat").integer(1, most_repeats);
    const JsonView::Range layers = value.at("layers").items();
    if (layers.size() == 0) value.at("layers").fail("expected at least one layer");
    for (const JsonView layer : layers)
        if (layer.has("repeat")) layer.fail("a repeat inside a repeat; write one of them out");
    for (int64_t i = 0; i < times; ++i)
        for (const JsonView layer : layers) read_layer(layer, std::to_string(i), scope, graph);
}

Graph GraphReader::read(const std::string &name, JsonView value) {
    check_name(name, value);
    value.allow_keys({"inputs", "layers", "outputs"});
    Graph graph;
    graph.name = name;
    graph.inputs = read_inputs(value.at("inputs"));
    Scope scope;
    for (const GraphInput &input : graph.inputs) scope.inputs.insert(input.name);

    const JsonView::Range layers = value.at("layers").items();
    if (layers.size() == 0) value.at("layers").fail("expected at least one layer");
    for (const JsonView layer : layers)
        layer.has("repeat") ? read_repeat(layer, scope, graph) : read_layer(layer, "", scope, graph);

    graph.nodes.shrink_to_fit();
    for (const JsonView tensor : value.at("outputs").members()) {
        const std::string output(tensor.key());
        check_name(output, tensor);
        const std::string made = scope.resolve(std::string(tensor.string()), tensor);
        if (scope.inputs.contains(made))
            tensor.fail("'" + made + "' is an input of the graph; expected a layer's output");
        if (output != made && scope.layers.contains(output)) // the name would be ambiguous
            tensor.fail("output '" + output + "' has the name of a layer and is '" + made + "'; give it another name");
        graph.outputs[output] = made;
    }
    if (graph.outputs.empty()) value.at("outputs").fail("a graph needs an output");
    return graph;
}

} // namespace lamina::model
