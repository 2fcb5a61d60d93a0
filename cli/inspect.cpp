// lamina inspect: what a model folder holds: graphs, layers, weights, vocabularies, how it generates.
#include "command.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"
#include "parts.hpp"
#include "table.hpp"

#include "base/binary_size.hpp"
#include "base/joined.hpp"

#include <lamina/inspect.hpp>

#include <algorithm>
#include <map>

namespace lamina::cli {
namespace {

int64_t parameters(const ModelContents &model) {
    int64_t n = 0;
    for (const auto &[name, weight] : model.weights) n += element_count(weight.type.shape);
    return n;
}

int64_t parameters(const ModelContents &model, const ModelLayer &layer) {
    int64_t n = 0;
    for (const auto &[port, weight] : layer.weights) n += element_count(model.weights.at(weight).type.shape);
    return n;
}

uint64_t weight_bytes(const ModelContents &model) {
    uint64_t n = 0;
    for (const auto &[name, weight] : model.weights) n += weight.type.bytes();
    return n;
}

std::string text_of(const ModelLayer::Param &value) {
    if (const bool *flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const double *number = std::get_if<double>(&value)) return significant(*number, 7);
    return std::get<std::string>(value);
}

// "f32 (B S 160)"; "?" where it could not be found out.
std::string type_of(const ModelTensor &tensor) {
    if (tensor.dims.empty()) return "?";
    return std::string(name_of(tensor.dtype)) + " (" + tensor.dims + ")";
}

using NamedGraph = std::pair<const std::string, ModelGraph>;

// In the order in which a text passes through them, where the model says; else by name.
std::vector<const NamedGraph *> graphs_in_order(const ModelContents &model) {
    std::vector<const NamedGraph *> out;
    for (const NamedGraph &graph : model.graphs) out.push_back(&graph);
    if (model.generation)
        std::stable_partition(out.begin(), out.end(),
                              [&](const NamedGraph *graph) { return graph->first == model.generation->encode; });
    return out;
}

// ---- As text ----

std::string head(const ModelContents &model, const Output &output) {
    std::string out = output.styled(visible(model.name), Style::bold) +
                      (model.summary.empty() ? "" : visible(": " + model.summary)) + "\n";
    return out + grouped(parameters(model)) + " parameters in " + std::to_string(model.weights.size()) + " weights, " +
           binary_size(weight_bytes(model)) + "\n";
}

std::string graph_as_text(const ModelContents &model, const NamedGraph &named, const Output &output) {
    const ModelGraph &graph = named.second;
    std::string out = "\n" + output.styled("graph " + named.first, Style::bold) + "\n";
    for (const ModelTensor &input : graph.inputs) out += "  takes " + input.name + ": " + type_of(input) + "\n";
    for (const auto &[name, tensor] : graph.outputs)
        out += "  gives " + name + (tensor == name ? "" : " = " + tensor) + "\n";

    Table table({"LAYER", "TYPE", "GIVES", {"WEIGHTS", Align::right}, "PARAMETERS", "INPUTS"});
    for (const ModelLayer &layer : graph.layers) {
        std::string inputs, params;
        for (const auto &[port, tensor] : layer.inputs) inputs += (inputs.empty() ? "" : " ") + port + "=" + tensor;
        for (const auto &[name, value] : layer.params)
            params += (params.empty() ? "" : " ") + name + "=" + text_of(value);
        const int64_t n = parameters(model, layer);
        table.row({{layer.name, Style::bold},
                   layer.type,
                   type_of(layer.outputs.front()),
                   n == 0 ? "" : grouped(n),
                   params,
                   inputs});
    }
    return out + table.str(output, "  ");
}

std::string weights_as_text(const ModelContents &model, const Output &output) {
    Table table({"WEIGHT", "DTYPE", "SHAPE", {"ELEMENTS", Align::right}, ""});
    for (const auto &[name, weight] : model.weights)
        table.row({{name, Style::bold},
                   name_of(weight.type.dtype),
                   to_string(weight.type.shape),
                   grouped(element_count(weight.type.shape)),
                   {weight.used ? "" : "no layer uses it", Style::red}});
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string name_of(TextFormat::Split split) {
    switch (split) {
    case TextFormat::Split::characters:
        return "characters";
    case TextFormat::Split::words:
        return "words";
    case TextFormat::Split::tokenizer:
        break;
    }
    return "tokenizer";
}

std::string format_as_text(const TextFormat &format) {
    const std::string entries = format.file + ", " + std::to_string(format.entries) + " entries";
    if (format.split == TextFormat::Split::tokenizer) return entries;
    return entries + ", one per " + (format.split == TextFormat::Split::characters ? "character" : "word") +
           (format.lowercase ? ", lower case" : "");
}

std::string audio_as_text(const AudioFormat &audio) {
    const double seconds = static_cast<double>(audio.length) / static_cast<double>(audio.rate);
    return "audio, " + std::to_string(audio.rate) + " samples per second, windows of " + significant(seconds, 3) + " s";
}

std::string generation_as_text(const ModelContents &model, const Output &output) {
    if (!model.generation) return "";
    const TextGeneration &g = *model.generation;
    const std::string source = "reads  " + (g.audio                   ? audio_as_text(*g.audio)
                                            : model.writes_of_texts() ? format_as_text(g.source)
                                                                      : "images");
    std::string out = "\n" + output.styled("generation", Style::bold) + "\n  " + source + "\n  writes " +
                      format_as_text(g.target) + "\n  ";
    if (!g.start.empty()) out += "from " + visible(joined(g.start)) + " ";
    if (!g.end.empty()) out += "to " + visible(joined(g.end)) + ", ";
    out += "at most " + std::to_string(g.max_length) + " tokens\n";
    if (g.images) {
        const bool any = g.images->width == 0;
        const std::string size =
            any ? "any size" : std::to_string(g.images->width) + " x " + std::to_string(g.images->height) + " pixels";
        out += "  sees images of " + size + " in place of " + visible(g.images->mark) + (any ? ", at most " : ", ") +
               std::to_string(g.images->tokens) + " tokens each\n";
    }
    for (const auto &[name, values] : g.choices) out += "  " + visible(name + ": " + joined(values)) + "\n";
    return out;
}

const char *name_of(TextReading::Gives gives) {
    switch (gives) {
    case TextReading::Gives::embedding:
        return "embedding";
    case TextReading::Gives::classes:
        return "classes";
    case TextReading::Gives::answers:
        return "answers";
    case TextReading::Gives::words:
        return "words";
    case TextReading::Gives::token_vectors:
        return "token_vectors";
    case TextReading::Gives::token_classes:
        break;
    }
    return "token_classes";
}

std::string reading_as_text(const ModelContents &model, const Output &output) {
    if (!model.reading) return "";
    const TextReading &r = *model.reading;
    std::string out = "\n" + output.styled("reading", Style::bold) + "\n  reads " + r.tokenizer + ", at most " +
                      std::to_string(r.longest) + " tokens\n  gives " + name_of(r.gives) + ": " + r.output +
                      (r.sparse ? ", a weight for each token" : "");
    out += (r.labels.empty() ? "" : " (" + visible(joined(r.labels)) + ")") + "\n";
    if (!r.mask.empty()) out += "  mask  " + visible(r.mask) + "\n";
    for (const auto &[name, text] : r.prompts)
        out += "  prompt " + visible(name) + (name == r.default_prompt ? " (default): \"" : ": \"") + visible(text) +
               "\"\n";
    return out;
}

const char *name_of(ImageReading::Gives gives) {
    return gives == ImageReading::Gives::classes ? "classes"
           : gives == ImageReading::Gives::texts ? "texts"
                                                 : "embedding";
}

std::string images_as_text(const ModelContents &model, const Output &output) {
    if (!model.images) return "";
    const ImageReading &i = *model.images;
    return "\n" + output.styled("images", Style::bold) + "\n  sees  " + std::to_string(i.width) + " x " +
           std::to_string(i.height) + " pixels\n  gives " + name_of(i.gives) +
           (i.output.empty() ? "" : ": " + i.output) +
           (i.labels.empty() ? "" : " (" + visible(joined(i.labels)) + ")") +
           (i.matches_texts ? "\n  compares images with texts" : "") + "\n";
}

std::string speech_as_text(const ModelContents &model, const Output &output) {
    if (!model.speech) return "";
    const SpeechReading &s = *model.speech;
    return "\n" + output.styled("speech", Style::bold) + "\n  hears " + audio_as_text(s.audio) +
           "\n  gives scores of " + std::to_string(s.labels.size()) + " characters: " + s.output + "\n";
}

std::string pages_as_text(const ModelContents &model, const Output &output) {
    if (!model.pages) return "";
    const PageReading &p = *model.pages;
    return "\n" + output.styled("pages", Style::bold) + "\n  reads " + p.tokenizer + ", at most " +
           std::to_string(p.longest) + " tokens at a time\n" +
           (p.sees ? "  sees  " + std::to_string(p.width) + " x " + std::to_string(p.height) + " pixels\n" : "") +
           "  gives " + name_of(p.gives) + ": " + p.output +
           (p.labels.empty() ? "" : " (" + visible(joined(p.labels)) + ")") + "\n";
}

std::string ignored_as_text(const ModelContents &model, const Output &output) {
    if (model.ignored_keys.empty()) return "";
    std::string keys;
    for (const std::string &key : model.ignored_keys) keys += (keys.empty() ? "" : ", ") + key.substr(1);
    return "\n" + output.styled("ignored", Style::bold) +
           "\n  in config.json, because these keys change nothing: " + keys + "\n";
}

std::string notes_as_text(const ModelContents &model, const Output &output) {
    if (model.notes.empty()) return "";
    std::string out = "\n" + output.styled("notes", Style::bold) + "\n";
    for (const std::string &note : model.notes) out += "  " + note + "\n";
    return out;
}

// ---- As JSON ----

Json layer_as_json(const ModelContents &model, const ModelLayer &layer) {
    Json inputs = Json::object(), params = Json::object(), weights = Json::array();
    for (const auto &[port, tensor] : layer.inputs) inputs[port] = tensor;
    for (const auto &[name, value] : layer.params)
        params[name] = std::visit([](const auto &v) { return Json(v); }, value);
    for (const auto &[port, name] : layer.weights) {
        const TensorType &type = model.weights.at(name).type;
        weights.push_back({{"port", port}, {"name", name}, {"dtype", name_of(type.dtype)}, {"shape", type.shape}});
    }
    return {{"name", layer.name}, {"type", layer.type}, {"gives", type_of(layer.outputs.front())},
            {"inputs", inputs},   {"params", params},   {"weights", weights}};
}

Json graph_as_json(const ModelContents &model, const NamedGraph &named) {
    const ModelGraph &graph = named.second;
    Json inputs = Json::array(), layers = Json::array(), outputs = Json::object();
    for (const ModelTensor &input : graph.inputs)
        inputs.push_back({{"name", input.name}, {"dtype", name_of(input.dtype)}, {"dims", input.dims}});
    for (const ModelLayer &layer : graph.layers) layers.push_back(layer_as_json(model, layer));
    for (const auto &[name, tensor] : graph.outputs) outputs[name] = tensor;
    return {{"name", named.first}, {"inputs", inputs}, {"layers", layers}, {"outputs", outputs}};
}

Json format_as_json(const TextFormat &format) {
    if (format.split == TextFormat::Split::tokenizer) return {{"tokenizer", format.file}};
    return {{"vocabulary", format.file}, {"split", name_of(format.split)}, {"lowercase", format.lowercase}};
}

Json audio_as_json(const AudioFormat &audio) { return {{"sample_rate", audio.rate}, {"samples", audio.length}}; }

// What a model generates texts from; how it takes images is under "images".
Json source_as_json(const ModelContents &model) {
    if (model.generation->audio) return audio_as_json(*model.generation->audio);
    if (model.writes_of_texts()) return format_as_json(model.generation->source);
    return {{"height", model.images->height}, {"width", model.images->width}};
}

Json reading_as_json(const ModelContents &model) {
    if (!model.reading) return nullptr;
    const TextReading &r = *model.reading;
    Json out{{"graph", r.graph},          {"output", r.output}, {"tokenizer", r.tokenizer},
             {"gives", name_of(r.gives)}, {"labels", r.labels}, {"longest", r.longest}};
    if (!r.mask.empty()) out["mask"] = r.mask;
    return out;
}

Json images_as_json(const ModelContents &model) {
    if (!model.images) return nullptr;
    const ImageReading &i = *model.images;
    return {{"graph", i.graph},
            {"output", i.output},
            {"height", i.height},
            {"width", i.width},
            {"labels", i.labels},
            {"gives", name_of(i.gives)},
            {"matches_texts", i.matches_texts}};
}

Json speech_as_json(const ModelContents &model) {
    if (!model.speech) return nullptr;
    const SpeechReading &s = *model.speech;
    return {{"graph", s.graph}, {"output", s.output}, {"source", audio_as_json(s.audio)}, {"labels", s.labels}};
}

Json pages_as_json(const ModelContents &model) {
    if (!model.pages) return nullptr;
    const PageReading &p = *model.pages;
    Json out{{"graph", p.graph},          {"output", p.output}, {"tokenizer", p.tokenizer},
             {"gives", name_of(p.gives)}, {"labels", p.labels}, {"longest", p.longest}};
    if (p.sees) out["height"] = p.height, out["width"] = p.width;
    return out;
}

Json as_json(const ModelContents &model) {
    Json graphs = Json::array(), unused = Json::array(), vocabularies = Json::array(), generation = nullptr;
    for (const NamedGraph *graph : graphs_in_order(model)) graphs.push_back(graph_as_json(model, *graph));
    for (const auto &[name, weight] : model.weights)
        if (!weight.used) unused.push_back(name);
    if (model.generation) {
        const TextGeneration &g = *model.generation;
        std::map<std::string, size_t> files{{g.target.file, g.target.entries}};
        if (model.writes_of_texts()) files[g.source.file] = g.source.entries; // which may be the same
        Json choices = Json::object();
        for (const auto &[name, values] : g.choices) choices[name] = values;
        for (const auto &[file, entries] : files) vocabularies.push_back({{"file", file}, {"entries", entries}});
        generation = {{"encode", g.encode},
                      {"decode", g.decode},
                      {"start", g.start},
                      {"end", g.end},
                      {"max_length", g.max_length},
                      {"choices", choices},
                      {"source", source_as_json(model)},
                      {"target", format_as_json(g.target)}};
        if (g.images)
            generation["images"] = Json{{"mark", g.images->mark},
                                        {"height", g.images->height},
                                        {"width", g.images->width},
                                        {"tokens", g.images->tokens}};
    }
    return {{"name", model.name},
            {"summary", model.summary},
            {"folder", model.folder.string()},
            {"parameters", parameters(model)},
            {"weight_bytes", weight_bytes(model)},
            {"graphs", graphs},
            {"unused_weights", unused},
            {"vocabularies", vocabularies},
            {"generation", generation},
            {"reading", reading_as_json(model)},
            {"images", images_as_json(model)},
            {"speech", speech_as_json(model)},
            {"pages", pages_as_json(model)},
            {"ignored_keys", model.ignored_keys},
            {"notes", model.notes}};
}

std::string as_text(const ModelContents &model, bool with_weights, const Output &output) {
    const bool all_used =
        std::all_of(model.weights.begin(), model.weights.end(), [](const auto &each) { return each.second.used; });
    std::string out = head(model, output);
    for (const NamedGraph *graph : graphs_in_order(model)) out += graph_as_text(model, *graph, output);
    if (with_weights || !all_used) out += weights_as_text(model, output);
    return out + generation_as_text(model, output) + reading_as_text(model, output) + images_as_text(model, output) +
           speech_as_text(model, output) + pages_as_text(model, output) + ignored_as_text(model, output) +
           notes_as_text(model, output);
}

struct InspectOptions {
    std::filesystem::path model;
    bool weights = false;
    SessionArguments session;
    LoadArguments load;
};

// What each of several devices would have of the model; empty if none is named.
std::vector<Session::Part> parts_of(const InspectOptions &options, const Arguments &app, const GlobalOptions &global,
                                    const Runtime &runtime) {
    if (!app.is_given("--device")) {
        refuse_given(app, {"--split", "--max-memory", "--cache"},
                     "is about what each of several devices would hold: name them with --device");
        return {};
    }
    const Device device = runtime.device(global.device);
    if (device.parts.empty())
        throw Error(ErrorCode::usage, "--device: expected several devices, among which to split the model, such as "
                                      "vulkan:0,cpu; found '" +
                                          global.device + "'");
    return runtime
        .session(runtime.load(options.model, load_options(options.load)), device,
                 session_options(options.session, runtime, device))
        .parts();
}

int inspect(const InspectOptions &options, const Arguments &app, const GlobalOptions &global, Output &output) {
    const Runtime runtime(global.runtime(output));
    const ModelContents model = lamina::inspect(runtime, options.model, load_options(options.load));
    const std::vector<Session::Part> parts =
        model.fault ? std::vector<Session::Part>() : parts_of(options, app, global, runtime);
    if (output.json()) {
        Json json = as_json(model);
        if (!parts.empty()) json["devices"] = parts_as_json(parts);
        output.print_json(json);
    } else {
        output.print(as_text(model, options.weights, output) + (parts.empty() ? "" : parts_as_text(parts, output)));
    }
    if (model.fault) throw Error(*model.fault); // after the print: what is wrong is easier seen with it
    return 0;
}

} // namespace

Command add_inspect(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app =
        lamina.command("inspect", "Print the graphs, shapes and weights of a model, and check that they fit together.");
    app.footer("With several devices, it also prints which layers each of them would have.\n"
               "Example: lamina inspect llama-7b.Q4_0.gguf --device vulkan:0,cpu --max-memory 6GiB");
    auto options = std::make_shared<InspectOptions>();
    app.positional("MODEL", options->model, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.flag("--weights", options->weights, "also list every weight with its dtype and shape");
    add_load_options(app, options->load);
    add_cache_option(app, options->session);
    add_split_options(app, options->session);
    return {app, [options, app, &global](Output &output) { return inspect(*options, app, global, output); }};
}

} // namespace lamina::cli
