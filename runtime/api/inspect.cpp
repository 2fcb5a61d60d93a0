// inspect() of inspect.hpp: a model as values.
#include <lamina/inspect.hpp>

#include "api/access.hpp"
#include "api/model_check.hpp"
#include "architectures/open.hpp"
#include "base/nearest.hpp"
#include "plan/symbolic_types.hpp"

#include <optional>
#include <span>

namespace lamina {
namespace {

// Port -> tensor, with the first input by its name.
std::vector<PortTensor> inputs_of(const model::Node &node, const lamina_layer &contract) {
    std::vector<PortTensor> out;
    for (uint32_t i = 0; i < contract.n_inputs; ++i) {
        auto input = node.inputs.find(contract.inputs[i].name);
        if (input == node.inputs.end() && i == 0) input = node.inputs.find("");
        if (input != node.inputs.end()) out.push_back({contract.inputs[i].name, input->second});
    }
    return out;
}

std::vector<PortTensor> weights_of(const model::Node &node, const lamina_layer &contract,
                                   const model::Weights &weights) {
    std::vector<PortTensor> out;
    for (const lamina_port &port : std::span(contract.weights, contract.n_weights))
        if (std::string name = plan::weight_name(node, port.name); weights.entries().contains(name))
            out.push_back({port.name, std::move(name)});
    return out;
}

std::vector<ModelTensor> outputs_of(const model::Node &node, const lamina_layer &contract,
                                    const plan::SymbolicTypes &types) {
    std::vector<ModelTensor> out;
    for (uint32_t i = 0; i < contract.n_outputs; ++i) {
        ModelTensor &tensor = out.emplace_back();
        tensor.name = i == 0 ? node.name : node.name + "." + contract.outputs[i].name;
        if (const auto type = types.find(tensor.name); type != types.end())
            tensor.dtype = type->second.dtype, tensor.dims = type->second.dims;
    }
    return out;
}

ModelGraph graph_of(const model::Graph &graph, const model::Model &model, const abi::Registry &plugins) {
    ModelGraph out;
    for (const model::GraphInput &input : graph.inputs) out.inputs.push_back({input.name, input.dtype, input.dims});
    const plan::SymbolicTypes types = plan::symbolic_types(model, graph, plugins);
    for (const model::Node &node : graph.nodes) {
        const lamina_layer &contract = *plugins.layer(node.type).contract;
        out.layers.push_back({.name = node.name,
                              .type = node.type,
                              .params = node.params,
                              .inputs = inputs_of(node, contract),
                              .weights = weights_of(node, contract, model.weights),
                              .outputs = outputs_of(node, contract, types)});
    }
    out.outputs = graph.outputs;
    return out;
}

TextFormat format_of(const model::TextCodec &codec) {
    using Split = model::TextCodec::Split;
    const auto split = codec.split() == Split::characters ? TextFormat::Split::characters
                       : codec.split() == Split::words    ? TextFormat::Split::words
                                                          : TextFormat::Split::tokenizer;
    return {.file = codec.file(), .entries = codec.size(), .split = split, .lowercase = codec.lowercase()};
}

AudioFormat format_of(const model::AudioInput &audio, const model::OutputTokens &marks, bool aligned) {
    AudioFormat out{.rate = audio.rate, .length = audio.length};
    if (marks.timestamps) out.timestamps = {Timestamps::segments};
    if (marks.timestamps && aligned) out.timestamps.push_back(Timestamps::words);
    return out;
}

TextGeneration generation_of(const model::Generation &g, const model::OutputTokens &marks) {
    std::vector<std::string> start, end;
    for (const model::Ids &choice : marks.start) start.push_back(g.target->token(choice.front()));
    for (const int32_t id : marks.end) end.push_back(g.target->token(id));
    std::map<std::string, std::vector<std::string>, std::less<>> choices;
    std::vector<std::string> left_open;
    for (const auto &[name, choice] : marks.choices) {
        choices[name] = names_of(choice.ids);
        if (choice.at == model::TokenChoice::At::output &&
            (choice.place < marks.start.size() ? marks.start[choice.place].size() > 1
                                               : !g.decoding.forced_bos_token_id))
            left_open.push_back(name);
    }
    return {.encode = g.encode,
            .decode = g.decode,
            .source = g.takes_texts() ? format_of(g.input()) : TextFormat{},
            .target = format_of(*g.target),
            .audio = g.audio ? std::optional(format_of(*g.audio, marks, g.alignment.has_value())) : std::nullopt,
            .start = start,
            .end = end,
            .choices = choices,
            .max_length = g.max_length,
            .beams = g.decoding.num_beams,
            .left_open = left_open};
}

TextReading reading_of(const model::Reading &r) {
    using Gives = model::Reading::Gives;
    const auto gives = r.gives == Gives::embedding       ? TextReading::Gives::embedding
                       : r.gives == Gives::classes       ? TextReading::Gives::classes
                       : r.gives == Gives::answers       ? TextReading::Gives::answers
                       : r.gives == Gives::words         ? TextReading::Gives::words
                       : r.gives == Gives::token_vectors ? TextReading::Gives::token_vectors
                                                         : TextReading::Gives::token_classes;
    auto prompts = r.prompts;
    for (const auto &[name, role] : r.roles) prompts[name] = role.prompt;
    return {.graph = r.graph,
            .output = r.output,
            .tokenizer = r.file,
            .gives = gives,
            .sparse = r.sparse,
            .labels = r.labels,
            .longest = r.longest,
            .prompts = std::move(prompts),
            .default_prompt = r.default_prompt,
            .mask = r.mask,
            .pairs = r.pair.has_value()};
}

ImagePrompts prompts_of(const model::Images &images) {
    return {.mark = images.place->mark,
            .height = images.steps.height,
            .width = images.steps.width,
            .tokens = images.tokens * (images.tiles ? image::most_tiles(*images.tiles) : 1)};
}

ImageReading images_of(const model::Images &images) {
    using Gives = model::Images::Gives;
    return {.graph = images.graph,
            .output = images.output,
            .gives = images.gives == Gives::classes ? ImageReading::Gives::classes
                     : images.gives == Gives::texts ? ImageReading::Gives::texts
                                                    : ImageReading::Gives::embedding,
            .labels = images.labels,
            .height = images.steps.height,
            .width = images.steps.width,
            .matches_texts = images.matching.has_value()};
}

SpeechReading speech_of(const model::Speech &speech) {
    return {.graph = speech.graph,
            .output = speech.logits,
            .audio = {.rate = speech.audio.rate,
                      .length = speech.audio.length,
                      .timestamps = {Timestamps::words, Timestamps::characters}},
            .labels = speech.labels};
}

PageReading pages_of(const model::Pages &pages) {
    const TextReading words = reading_of(pages.reading);
    return {.graph = words.graph,
            .output = words.output,
            .tokenizer = words.tokenizer,
            .gives = words.gives,
            .labels = words.labels,
            .longest = words.longest,
            .sees = pages.image.has_value(),
            .height = pages.image ? pages.image->steps.height : 0,
            .width = pages.image ? pages.image->steps.width : 0};
}

ModelContents contents_of(const model::Model &model, const abi::Registry &plugins) {
    ModelContents out;
    out.name = model.name, out.summary = model.summary, out.folder = model.folder;
    for (const auto &[name, entry] : model.weights.entries()) out.weights[name].type = entry.type;
    for (const auto &[name, graph] : model.graphs)
        for (const ModelLayer &layer : (out.graphs[name] = graph_of(graph, model, plugins)).layers)
            for (const PortTensor &weight : layer.weights) out.weights.at(weight.tensor).used = true;
    if (model.generation) out.generation = generation_of(*model.generation, model.tokens);
    if (model.reading) out.reading = reading_of(*model.reading);
    if (model.images && model.images->place)
        out.generation->images = prompts_of(*model.images);
    else if (model.images)
        out.images = images_of(*model.images);
    if (model.speech) out.speech = speech_of(*model.speech);
    if (model.pages) out.pages = pages_of(*model.pages);
    out.ignored_keys = model.ignored;
    out.notes = model.notes;
    out.no_images = model.no_images;
    return out;
}

} // namespace

ModelContents inspect(const Model &model) {
    return contents_of(*detail::Access::model(model), *detail::Access::plugins(model));
}

ModelContents inspect(const Runtime &runtime, const std::filesystem::path &folder, const LoadOptions &options) {
    const abi::Registry &plugins = *detail::Access::state(runtime)->plugins;
    const auto model = architectures::open(folder, options, plugins.folders());
    api::expect_plugins(*model, plugins);
    std::optional<Error> fault;
    try {
        api::check_model(*model, plugins); // which finds some of what it has
    } catch (const Error &e) {
        fault = e;
    }
    ModelContents out = contents_of(*model, plugins);
    out.fault = fault;
    return out;
}

} // namespace lamina
