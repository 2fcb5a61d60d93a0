// transformer.hpp: turns blocks into graphs and weights, and graphs into a model.
#include <lamina/transformer.hpp>

#include "base/available_memory.hpp"
#include "base/binary_size.hpp"
#include "base/readable_json.hpp"
#include "base/utf8.hpp"
#include "builder/transformer_check.hpp"
#include "builder/transformer_graph.hpp"

#include <functional>
#include <new>

namespace lamina {
namespace {

using builder::AttentionInputs;
using builder::TransformerGraph;

// ---- Shapes ----

std::string ids_dims(bool batch_first, const char *time) {
    return batch_first ? std::string("B ") + time : std::string(time) + " B";
}
std::string token_dims(const TransformerLayer &layer, const char *time, int64_t channels) {
    return ids_dims(layer.batch_first, time) + " " + std::to_string(channels);
}

// Adds the input that says which keys may be attended to, and returns its name; "" for Mask::none. Masks of `keys` are
// shared by all attention layers with these keys. A keep mask also depends on the queries, so it has its own name.
std::string add_mask(TransformerGraph &graph, Mask mask, const std::string &keys, const char *keys_time,
                     const std::string &keep, const std::string &keep_dims) {
    switch (mask) {
    case Mask::none:
        return "";
    case Mask::lengths:
        return graph.input(keys + "_lengths", DType::i32, "B");
    case Mask::keys:
        return graph.input(keys + "_mask", DType::i32, std::string("B ") + keys_time);
    case Mask::keep:
        break;
    }
    return graph.input(keep + "_mask", DType::i32, keep_dims);
}

// ---- Graphs ----

// Adds an encoder that reads `x`, and its output. Returns the output's name in the graph.
std::string add_encoder(TransformerGraph &graph, const Encoder &e, const std::string &x) {
    AttentionInputs inputs;
    inputs.mask = add_mask(graph, e.mask, "source", "S", "source", "B S S");
    inputs.mask_kind = e.mask;
    const std::string memory = graph.stack(e.layer, e.layers, e.final_norm, "encoder", x, inputs);
    graph.output("memory", memory);
    return memory;
}

// If a decoder's layers attend to the source, its keys and values are projected here, once per source, instead of in
// the decoder at every step.
TransformerGraph encode_graph(const EmbeddingsWithPositionalEncoding &embedding, const Encoder &encoder,
                              const Decoder *decoder) {
    TransformerGraph graph;
    graph.input("source", DType::i32, ids_dims(encoder.layer.batch_first, "S"));
    const std::string memory = add_encoder(graph, encoder, graph.embedding(embedding, "encoder", "source", ""));
    if (decoder != nullptr)
        graph.project_source(decoder->layer, decoder->layers, "decoder", memory, encoder.layer.d_model);
    return graph;
}

// Adds the inputs of a decoder besides its tokens. A decoder alone reads an encoder's memory; otherwise it reads the
// keys and values that the encode graph computes.
AttentionInputs add_decoder_inputs(TransformerGraph &graph, const Decoder &d, bool alone) {
    AttentionInputs inputs;
    inputs.causal = d.causal;
    inputs.mask = add_mask(graph, d.mask, "target", "T", "target", "B T T");
    inputs.mask_kind = d.mask;
    if (!d.layer.source_attention) return inputs;
    const std::string dims = token_dims(d.layer, "S", d.layer.d_model);
    if (alone)
        inputs.memory = graph.input("memory", DType::f32, dims);
    else
        for (const std::string &name : TransformerGraph::source_tensors("decoder", d.layers))
            graph.input(name, DType::f32, dims);
    inputs.source_mask = add_mask(graph, d.source_mask, "source", "S", "memory", "B T S");
    inputs.source_mask_kind = d.source_mask;
    return inputs;
}

const char *output_name(const Generator &g) {
    switch (g.output) {
    case Generator::Output::probabilities:
        return "probabilities";
    case Generator::Output::log_probabilities:
        return "log_probabilities";
    case Generator::Output::logits:
        break;
    }
    return "logits";
}

TransformerGraph decode_graph(const EmbeddingsWithPositionalEncoding &embedding, const Decoder &decoder,
                              const Generator &generator) {
    TransformerGraph graph;
    graph.input("target", DType::i32, ids_dims(decoder.layer.batch_first, "T"));
    AttentionInputs inputs = add_decoder_inputs(graph, decoder, false);
    if (decoder.mask == Mask::none) {
        inputs.position = "position";
        graph.input("position", DType::i32, "B");
    }
    const std::string embedded = graph.embedding(embedding, "decoder", "target", inputs.position);
    const std::string decoded =
        graph.stack(decoder.layer, decoder.layers, decoder.final_norm, "decoder", embedded, inputs);
    graph.output(output_name(generator), graph.generator(generator, decoded));
    return graph;
}

// ---- Models ----

std::string described(const TransformerLayer &layer) {
    return std::string(layer.norm_first ? "pre" : "post") + "-norm, d_model " + std::to_string(layer.d_model) + ", " +
           std::to_string(layer.heads) + " heads, feed-forward " + std::to_string(layer.ffn);
}

std::map<std::string, Tensor, std::less<>> make_weights(const std::vector<builder::InitialWeight> &weights,
                                                        const BuildOptions &options) {
    std::map<std::string, Tensor, std::less<>> out;
    for (const auto &w : weights)
        if (const TensorType type{options.dtype, w.shape}; w.shape.size() > 1 && !type.fits())
            throw Error(ErrorCode::usage,
                        "weight '" + w.name + "' " + to_string(w.shape) + " cannot be " + name_of(type.dtype) +
                            ", which stores " + std::to_string(storage_of(type.dtype).block_values) +
                            " values of a row together; choose d_model and ffn as multiples of it, or another dtype");
    const uint64_t need = builder::memory_for(weights, options.dtype);
    builder::check_memory(need, available_memory());
    try {
        for (const auto &w : weights) {
            out[w.name] = builder::make_weight(w, options.dtype, options.seed);
            if (options.progress) options.progress(out.size(), weights.size());
        }
    } catch (const std::bad_alloc &) { // a limit of this process (ulimit -v), which the machine's memory does not show
        throw Error(ErrorCode::memory, "the weights need " + binary_size(need) +
                                           ", more than this process may allocate; build a smaller model");
    }
    return out;
}

struct NamedGraph {
    const char *name;
    TransformerGraph graph;
};

ModelDescription finish(const std::vector<NamedGraph> &graphs, const std::string &summary, const BuildOptions &options,
                        const Json &generation = {}) {
    Json json{{"format", "lamina/1"}, {"name", options.name}};
    json["summary"] = options.summary.empty() ? summary : options.summary;
    std::vector<builder::InitialWeight> weights;
    for (const auto &[name, graph] : graphs) {
        json["graphs"][name] = graph.json();
        weights.insert(weights.end(), graph.weights().begin(), graph.weights().end());
    }
    if (!generation.empty()) json["generation"] = generation;

    ModelDescription out;
    out.name = options.name;
    out.json = readable_json(json);
    if (first_invalid_utf8(out.json) != out.json.size())
        throw Error(ErrorCode::usage, "the summary is not valid UTF-8");
    out.weights = make_weights(weights, options);
    if (options.text && !options.text->source.empty())
        out.vocabularies["source.txt"] = builder::lines_of(options.text->source);
    if (options.text) out.vocabularies["target.txt"] = builder::lines_of(options.text->target);
    return out;
}

Json codec(const char *file, bool characters) {
    return {{"vocabulary", file}, {"split", characters ? "characters" : "words"}};
}

// The "generation" block of model.json; empty without vocabularies.
Json generation(const BuildOptions &options, const Generator &generator, bool encoder) {
    if (!options.text) return {};
    const TextVocabularies &text = *options.text;
    Json out = Json::object();
    if (encoder) {
        out["encode"] = "encode";
        out["source_ids"] = "source";
        out["source_lengths"] = "source_lengths";
        out["source"] = codec("source.txt", text.source_characters);
    }
    out["decode"] = "decode";
    out["target_ids"] = "target";
    out["position"] = "position";
    out[generator.output == Generator::Output::probabilities ? "probabilities" : "logits"] = output_name(generator);
    out["start"] = text.start;
    out["end"] = text.end;
    out["max_length"] = text.max_length;
    out["target"] = codec("target.txt", text.target_characters);
    return out;
}

} // namespace

ModelDescription build(const EncoderDecoder &model, const BuildOptions &options) {
    builder::check_settings(model, options);
    const std::string summary = "Encoder-decoder transformer, " + std::to_string(model.encoder.layers) + " + " +
                                std::to_string(model.decoder.layers) + " layers, " + described(model.encoder.layer);
    return finish({{"encode", encode_graph(model.source_embedding, model.encoder, &model.decoder)},
                   {"decode", decode_graph(model.target_embedding, model.decoder, model.generator)}},
                  summary, options, generation(options, model.generator, true));
}

ModelDescription build(const EncoderOnly &model, const BuildOptions &options) {
    builder::check_settings(model, options);
    return finish({{"encode", encode_graph(model.embedding, model.encoder, nullptr)}},
                  "Transformer encoder, " + std::to_string(model.encoder.layers) + " layers, " +
                      described(model.encoder.layer),
                  options);
}

ModelDescription build(const DecoderOnly &model, const BuildOptions &options) {
    builder::check_settings(model, options);
    return finish({{"decode", decode_graph(model.embedding, model.decoder, model.generator)}},
                  "Transformer decoder, " + std::to_string(model.decoder.layers) + " layers, " +
                      described(model.decoder.layer),
                  options, generation(options, model.generator, false));
}

ModelDescription build(const TransformerLayer &layer, const BuildOptions &options) {
    if (layer.source_attention) return build(Decoder{.layer = layer, .layers = 1, .final_norm = false}, options);
    return build(Encoder{.layer = layer, .layers = 1, .final_norm = false}, options);
}

ModelDescription build(const Encoder &encoder, const BuildOptions &options) {
    builder::check_settings(options);
    builder::check_settings(encoder, "encoder");
    TransformerGraph graph;
    graph.input("source", DType::f32, token_dims(encoder.layer, "S", encoder.layer.d_model));
    add_encoder(graph, encoder, "source");
    return finish({{"encode", std::move(graph)}}, "Encoder on vectors, " + described(encoder.layer), options);
}

ModelDescription build(const Decoder &decoder, const BuildOptions &options) {
    builder::check_settings(options);
    builder::check_settings(decoder, "decoder");
    const TransformerLayer &layer = decoder.layer;
    TransformerGraph graph;
    graph.input("target", DType::f32, token_dims(layer, "T", layer.d_model));
    const AttentionInputs inputs = add_decoder_inputs(graph, decoder, true);
    graph.output("decoded", graph.stack(layer, decoder.layers, decoder.final_norm, "decoder", "target", inputs));
    return finish({{"decode", std::move(graph)}}, "Decoder on vectors, " + described(layer), options);
}

ModelDescription build(const EmbeddingsWithPositionalEncoding &embedding, const BuildOptions &options) {
    builder::check_settings(options);
    builder::check_settings(embedding, "embedding");
    TransformerGraph graph;
    graph.input("ids", DType::i32, ids_dims(embedding.batch_first, "T"));
    graph.output("embedded", graph.embedding(embedding, "tokens", "ids", ""));
    return finish({{"embed", std::move(graph)}}, "Embeddings with positional encoding", options);
}

ModelDescription build(const Generator &generator, const BuildOptions &options) {
    builder::check_settings(options);
    builder::check_settings(generator, "generator");
    TransformerGraph graph;
    graph.input("decoded", DType::f32, "B T " + std::to_string(generator.d_model));
    graph.output(output_name(generator), graph.generator(generator, "decoded"));
    return finish({{"generate", std::move(graph)}}, "Generator", options);
}

} // namespace lamina
