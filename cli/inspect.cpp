// lamina inspect: what a model folder holds: graphs, layers, weights, vocabularies, how it generates.
#include "command.hpp"
#include "table.hpp"

#include "api/model_check.hpp"
#include "base/binary_size.hpp"
#include "model/model.hpp"
#include "plan/graph_plan.hpp"
#include "plan/symbolic_dims.hpp"

#include <algorithm>

namespace lamina::cli {
namespace {

// A weight of the file that a layer takes.
struct Weight {
    std::string port, name;
    TensorType type;
};

struct Content {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const abi::Registry> plugins;
    std::vector<std::string> unused; // weights that no layer takes

    [[nodiscard]] const lamina_layer &contract(const model::Node &node) const {
        return *plugins->layer(node.type).contract;
    }

    [[nodiscard]] std::vector<Weight> weights(const model::Node &node) const {
        std::vector<Weight> out;
        const lamina_layer &layer = contract(node);
        for (uint32_t i = 0; i < layer.n_weights; ++i) {
            const std::string port = layer.weights[i].name;
            const auto mapped = node.weights.find(port);
            const std::string name = mapped != node.weights.end() ? mapped->second : node.name + "." + port;
            if (const auto entry = model->weights.entries().find(name); entry != model->weights.entries().end())
                out.push_back({port, name, entry->second.type});
        }
        return out;
    }

    // Port -> tensor, with the first input by its name; in the contract's order.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> inputs(const model::Node &node) const {
        std::vector<std::pair<std::string, std::string>> out;
        const lamina_layer &layer = contract(node);
        for (uint32_t i = 0; i < layer.n_inputs; ++i) {
            auto input = node.inputs.find(layer.inputs[i].name);
            if (input == node.inputs.end() && i == 0) input = node.inputs.find("");
            if (input != node.inputs.end()) out.emplace_back(layer.inputs[i].name, input->second);
        }
        return out;
    }
};

int64_t elements(const std::vector<Weight> &weights) {
    int64_t n = 0;
    for (const Weight &weight : weights) n += element_count(weight.type.shape);
    return n;
}

int64_t parameters(const model::Model &model) {
    int64_t n = 0;
    for (const auto &[name, entry] : model.weights.entries()) n += element_count(entry.type.shape);
    return n;
}

uint64_t weight_bytes(const model::Model &model) {
    uint64_t n = 0;
    for (const auto &[name, entry] : model.weights.entries()) n += entry.bytes.size();
    return n;
}

std::string text_of(const abi::ParamValue &value) {
    if (const bool *flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const double *number = std::get_if<double>(&value)) return significant(*number, 7);
    return std::get<std::string>(value);
}

Json json_of(const abi::ParamValue &value) {
    return std::visit([](const auto &v) { return Json(v); }, value);
}

// In the order in which a text passes through them, where the model says; else by name.
std::vector<const model::Graph *> graphs_in_order(const model::Model &model) {
    std::vector<const model::Graph *> out;
    for (const auto &[name, graph] : model.graphs) out.push_back(&graph);
    if (model.generation)
        std::stable_partition(out.begin(), out.end(),
                              [&](const model::Graph *graph) { return graph->name == model.generation->encode; });
    return out;
}

// ---- As text ----

std::string head(const Content &content, const Output &output) {
    const model::Model &model = *content.model;
    std::string out =
        output.styled(model.name, Style::bold) + (model.summary.empty() ? "" : ": " + model.summary) + "\n";
    return out + grouped(parameters(model)) + " parameters in " + std::to_string(model.weights.entries().size()) +
           " weights, " + binary_size(weight_bytes(model)) + "\n";
}

// "f32 (B S 160)": what a layer gives; "?" where it could not be found out.
std::string found(const std::map<std::string, std::string> &dims, const std::string &tensor) {
    const auto at = dims.find(tensor);
    return at == dims.end() ? "?" : at->second;
}

std::string graph_as_text(const Content &content, const model::Graph &graph, const Output &output) {
    std::string out = "\n" + output.styled("graph " + graph.name, Style::bold) + "\n";
    for (const model::GraphInput &input : graph.inputs)
        out += "  takes " + input.name + ": " + lamina::name_of(input.dtype) + " (" + input.dims + ")\n";
    for (const auto &[name, tensor] : graph.outputs) out += "  gives " + name + " = " + tensor + "\n";

    const std::map<std::string, std::string> dims = plan::symbolic_dims(*content.model, graph, *content.plugins);
    Table table({"LAYER", "TYPE", "GIVES", {"WEIGHTS", Align::right}, "PARAMETERS", "INPUTS"});
    for (const model::Node &node : graph.nodes) {
        std::string inputs, params;
        for (const auto &[port, tensor] : content.inputs(node))
            inputs += (inputs.empty() ? "" : " ") + port + "=" + tensor;
        for (const auto &[name, value] : node.params)
            params += (params.empty() ? "" : " ") + name + "=" + text_of(value);
        const int64_t n = elements(content.weights(node));
        table.row(
            {{node.name, Style::bold}, node.type, found(dims, node.name), n == 0 ? "" : grouped(n), params, inputs});
    }
    return out + table.str(output, "  ");
}

std::string weights_as_text(const Content &content, const Output &output) {
    Table table({"WEIGHT", "DTYPE", "SHAPE", {"ELEMENTS", Align::right}, ""});
    for (const auto &[name, entry] : content.model->weights.entries()) {
        const bool unused = std::find(content.unused.begin(), content.unused.end(), name) != content.unused.end();
        table.row({{name, Style::bold},
                   lamina::name_of(entry.type.dtype),
                   to_string(entry.type.shape),
                   grouped(element_count(entry.type.shape)),
                   {unused ? "no layer uses it" : "", Style::red}});
    }
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string codec_as_text(const model::TextCodec &codec, const model::Model &model) {
    return codec.vocabulary + ", " + std::to_string(model.vocabularies.at(codec.vocabulary).size()) +
           " entries, one a " + (codec.characters ? "character" : "word") + (codec.lowercase ? ", lower case" : "");
}

std::string generation_as_text(const model::Model &model, const Output &output) {
    if (!model.generation) return "";
    const model::Generation &g = *model.generation;
    return "\n" + output.styled("generation", Style::bold) + "\n  reads  " + codec_as_text(g.input(), model) +
           "\n  writes " + codec_as_text(g.target, model) + "\n  from " + g.start + " to " + g.end + ", at most " +
           std::to_string(g.max_length) + " tokens\n";
}

// ---- As JSON ----

using Dims = std::map<std::string, std::string>;

Json node_as_json(const Content &content, const model::Node &node, const Dims &dims) {
    Json inputs = Json::object(), params = Json::object(), weights = Json::array();
    for (const auto &[port, tensor] : content.inputs(node)) inputs[port] = tensor;
    for (const auto &[name, value] : node.params) params[name] = json_of(value);
    for (const Weight &weight : content.weights(node))
        weights.push_back({{"port", weight.port},
                           {"name", weight.name},
                           {"dtype", lamina::name_of(weight.type.dtype)},
                           {"shape", weight.type.shape}});
    return {{"name", node.name}, {"type", node.type}, {"gives", found(dims, node.name)},
            {"inputs", inputs},  {"params", params},  {"weights", weights}};
}

Json graph_as_json(const Content &content, const model::Graph &graph) {
    Json inputs = Json::array(), layers = Json::array(), outputs = Json::object();
    for (const model::GraphInput &input : graph.inputs)
        inputs.push_back({{"name", input.name}, {"dtype", lamina::name_of(input.dtype)}, {"dims", input.dims}});
    const Dims dims = plan::symbolic_dims(*content.model, graph, *content.plugins);
    for (const model::Node &node : graph.nodes) layers.push_back(node_as_json(content, node, dims));
    for (const auto &[name, tensor] : graph.outputs) outputs[name] = tensor;
    return {{"name", graph.name}, {"inputs", inputs}, {"layers", layers}, {"outputs", outputs}};
}

Json codec_as_json(const model::TextCodec &codec) {
    return {{"vocabulary", codec.vocabulary},
            {"split", codec.characters ? "characters" : "words"},
            {"lowercase", codec.lowercase}};
}

Json as_json(const Content &content) {
    const model::Model &model = *content.model;
    Json graphs = Json::array(), vocabularies = Json::array(), generation = nullptr;
    for (const model::Graph *graph : graphs_in_order(model)) graphs.push_back(graph_as_json(content, *graph));
    for (const auto &[file, vocabulary] : model.vocabularies)
        vocabularies.push_back({{"file", file}, {"entries", vocabulary.size()}});
    if (model.generation)
        generation = {{"encode", model.generation->encode},
                      {"decode", model.generation->decode},
                      {"start", model.generation->start},
                      {"end", model.generation->end},
                      {"max_length", model.generation->max_length},
                      {"source", codec_as_json(model.generation->input())},
                      {"target", codec_as_json(model.generation->target)}};
    return {{"name", model.name},
            {"summary", model.summary},
            {"folder", model.folder.string()},
            {"parameters", parameters(model)},
            {"weight_bytes", weight_bytes(model)},
            {"graphs", graphs},
            {"unused_weights", content.unused},
            {"vocabularies", vocabularies},
            {"generation", generation}};
}

int inspect(const std::filesystem::path &folder, bool with_weights, const GlobalOptions &global, Output &output) {
    Content content;
    content.model = model::Model::load(folder);
    content.plugins = abi::Registry::discover(abi::Registry::search_path(global.plugin_folders));
    content.unused = plan::unused_weights(*content.model, *content.plugins);
    if (output.json()) {
        output.print_json(as_json(content));
    } else {
        std::string text = head(content, output);
        for (const model::Graph *graph : graphs_in_order(*content.model))
            text += graph_as_text(content, *graph, output);
        if (with_weights || !content.unused.empty()) text += weights_as_text(content, output);
        output.print(text + generation_as_text(*content.model, output));
    }
    api::check_model(*content.model, *content.plugins); // after the print: what is wrong is easier seen with it
    return 0;
}

} // namespace

Command add_inspect(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("inspect", "Print what a model holds, and check that it fits together.");
    auto folder = std::make_shared<std::filesystem::path>();
    auto with_weights = std::make_shared<bool>(false);
    app.positional("MODEL", *folder, "model folder").required();
    app.flag("--weights", *with_weights, "list every weight with its dtype and shape, too");
    return {app, [folder, with_weights, &global](Output &output) {
                return inspect(*folder, *with_weights, global, output);
            }};
}

} // namespace lamina::cli
