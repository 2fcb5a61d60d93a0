#include "architectures/decoder_graph.hpp"

#include "architectures/made_modules.hpp"

#include <algorithm>

namespace lamina::architectures {
namespace {

// Inputs of a decoder that images are shown to.
constexpr const char *image_rows = "image_rows", *image_mask = "image_mask";

bool is_tied(const Draft &draft) {
    const bool tied = draft.config.flag("tie_word_embeddings");
    return draft.tie_words.value_or(tied);
}

Task task_of(const Draft &draft, bool tied) {
    if (draft.sentences && draft.sentences->of_words())
        draft.config.fail("model_type",
                          "modules.json makes vectors of scores of words, which is supported for encoders, "
                          "not for decoders");
    if (draft.sentences) return Task::none;
    if (draft.task) return *draft.task;
    return tied || draft.weights.entries().contains("lm_head.weight") ? Task::words : Task::none;
}

// Layers [first, end).
void leave_out_layers(Draft &draft, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i)
        for (const auto &[name, weight] : draft.weights.entries())
            for (const char *start : {"blk.", "model.layers."})
                if (name.starts_with(start + std::to_string(i) + ".")) draft.unused.insert(name);
}

} // namespace

int64_t common_window(const Config &config) {
    if (config.find("sliding_window")) return config.positive("sliding_window");
    refuse_sliding_layers(config);
    return 0;
}

AttentionHeads AttentionHeads::of(const Config &config, int64_t width) {
    const char *const key = "num_attention_heads";
    const int64_t count = config.positive(key);
    const AttentionHeads out{count, config.integer("num_key_value_heads", count),
                             config.integer("head_dim", width / count)};
    if (out.dim == 0) config.fail(key, "expected at most the hidden_size, " + std::to_string(width));
    return out;
}

double clip_of(const Config &config, const char *key) {
    const double clip = config.real(key, 0);
    if (config.has(key) && !(clip >= 1e-3 && clip <= 1e6))
        config.fail(key, "expected null or a number from 0.001 to 1000000");
    return clip;
}

void refuse_sliding_layers(const Config &config) {
    const std::vector<std::string> types = config.texts("layer_types");
    if (std::ranges::find(types, "sliding_attention") != types.end())
        config.fail("layer_types", "has sliding_attention, which needs a number as \"sliding_window\"");
}

int64_t layers_without_drafts(Draft &draft) {
    const int64_t all = draft.config.layers("num_hidden_layers"),
                  ahead = draft.gguf ? std::min(all - 1, draft.config.integer("nextn_predict_layers", 0)) : 0;
    const int64_t layers = all - std::max<int64_t>(ahead, 0);
    leave_out_layers(draft, layers, std::max(all, layers + 1)); // folders do not count them
    return layers;
}

bool continues_texts(const Draft &draft) { return task_of(draft, is_tied(draft)) == Task::words; }

DecoderGraph::DecoderGraph(Draft &draft)
    : draft_(&draft), tied_(is_tied(draft)), task_(task_of(draft, tied_)),
      graph_(&draft.graph(task_ == Task::words ? "decode" : "encode")), ids_(graph_->input("ids", DType::i32, "B T")) {
    draft.causal = true;
    if (task_ == Task::words)
        position_ = graph_->input("position", DType::i32, "B");
    else
        lengths_ = graph_->input("lengths", DType::i32, "B");
}

GraphWriter::Tensor DecoderGraph::target_lengths() const {
    const char *const name = "target_lengths";
    if (!continues()) return "";
    return graph_->takes(name) ? name : graph_->input(name, DType::i32, "B");
}

GraphWriter::Tensor DecoderGraph::ahead() const {
    const char *const name = "image_ahead";
    if (!graph_->takes(image_rows) || !draft_->images->see_each_other) return "";
    return graph_->takes(name) ? name : graph_->input(name, DType::i32, "B T");
}

GraphWriter::Tensor DecoderGraph::embedded(const std::string &module, const GraphWriter::Embedding &options,
                                           bool words_scaled) const {
    const GraphWriter::Tensor words = graph_->embedding(module, ids_, options);
    const bool scaled = options.scale != 1 && !words_scaled; // models differ in whether that is for images, too
    if (!continues() || scaled || !draft_->images || !draft_->images->of_prompts()) return words;
    const int64_t channels = options.channels, details = draft_->images->details;
    GraphWriter::Tensor rows = graph_->input(image_rows, DType::f32, "B T " + std::to_string((1 + details) * channels),
                                             (1 + details) * channels);
    const GraphWriter::Tensor mask = graph_->input(image_mask, DType::i32, "B T");
    if (details != 0) rows = graph_->layer(module + ".rows", "slice", {{"x", rows}}, {{"count", channels}});
    return graph_->layer(module + ".seen", "select", {{"x", words}, {"other", rows}, {"mask", mask}});
}

GraphWriter::Tensor DecoderGraph::with_details(const std::string &layer, int64_t number,
                                               const GraphWriter::Tensor &x) const {
    if (!graph_->takes(image_rows) || number >= draft_->images->details) return x;
    const int64_t channels = graph_->channels(x);
    const GraphWriter::Tensor rows = graph_->layer(layer + ".details", "slice", {{"x", image_rows}},
                                                   {{"first", (1 + number) * channels}, {"count", channels}});
    return graph_->layer(layer + ".detailed", "select", {{"x", x}, {"other", rows}, {"mask", image_mask}},
                         {{"added", true}});
}

GraphWriter::Tensor DecoderGraph::self_attention(const std::string &module, const GraphWriter::Tensor &x,
                                                 const SelfAttention &options) const {
    GraphWriter &graph = *graph_;
    const std::string query = options.gated ? ".query" : ".q_proj", gate = ".gate";
    const int64_t width = options.heads.count * options.heads.dim,
                  kv_width = options.heads.kv_count * options.heads.dim;
    split_if_fused(*draft_, graph, module + ".qkv_proj",
                   {.inputs = graph.channels(x),
                    .parts = {{module + ".q_proj", options.gated ? 2 * width : width},
                              {module + ".k_proj", kv_width},
                              {module + ".v_proj", kv_width}}});
    if (options.gated)
        split_by_heads(*draft_, graph, module + ".q_proj",
                       {.inputs = graph.channels(x),
                        .parts = {{module + query, width}, {module + gate, width}},
                        .biased = options.biased},
                       options.heads.count);
    const auto projected = [&](const std::string &name, int64_t heads) {
        const GraphWriter::Tensor rows =
            graph.linear(module + name, x, {.outputs = heads * options.heads.dim, .biased = options.biased});
        if (options.clip == 0) return rows;
        return graph.layer(module + name + ".clipped", "activation", {{"x", rows}},
                           {{"activation", "clamp"}, {"scale", options.clip}});
    };
    const auto placed = [&](const std::string &name, GraphWriter::Tensor rows, int64_t heads) {
        if (options.norm) rows = options.norm(module + name + "_norm", rows, heads);
        return options.rotary != nullptr ? (*options.rotary)(graph, module + name + "_rotary", rows, heads, position_)
                                         : rows;
    };
    const GraphWriter::Tensor q = placed(".q", projected(query, options.heads.count), options.heads.count),
                              k = placed(".k", projected(".k_proj", options.heads.kv_count), options.heads.kv_count),
                              v = projected(".v_proj", options.heads.kv_count);
    GraphWriter::Tensor attended = graph.attention(module + ".heads", q, k, v,
                                                   {.heads = options.heads.count,
                                                    .kv_heads = options.heads.kv_count,
                                                    .causal = options.causal,
                                                    .scale = options.scale,
                                                    .softcap = options.softcap,
                                                    .window = options.window,
                                                    .two_sided = !options.causal,
                                                    .position = position_,
                                                    .ahead = ahead(),
                                                    .key_lengths = lengths_,
                                                    .slopes = options.slopes,
                                                    .sinks = options.sinks});
    if (options.gated)
        attended = graph.layer(module + ".gated", "activation",
                               {{"x", projected(gate, options.heads.count)}, {"times", attended}},
                               {{"activation", "sigmoid"}});
    if (options.factor != 1)
        attended = graph.layer(module + ".factor", "activation", {{"x", attended}},
                               {{"activation", "none"}, {"factor", options.factor}});
    return graph.linear(module + "." + options.out, attended,
                        {.outputs = graph.channels(x), .residual = options.residual, .biased = options.out_biased});
}

void DecoderGraph::add_outputs(const GraphWriter::Tensor &x, const Heads &heads) const {
    GraphWriter &graph = *graph_;
    const Config &config = draft_->config;
    if (task_ == Task::words) return graph.output("logits", words(x, heads));
    graph.output("hidden", x);
    if (draft_->sentences)
        return graph.output("embedding", draft_->sentences->layers(graph, draft_->weights, x, lengths_));
    switch (task_) {
    case Task::none:
    case Task::words:
    case Task::images:
    case Task::speech:
        return;
    case Task::texts: {
        if (draft_->token_score) return graph.output("logits", asked(x, heads));
        // The last token whose id is not that of padding, even if the text ends with it (transformers,
        // modeling_layers.py, GenericForSequenceClassification).
        if (draft_->texts) draft_->texts->padding = config.optional_integer("pad_token_id");
        const GraphWriter::Tensor last =
            graph.layer("last", "pooling", {{"x", x}, {"lengths", lengths_}}, {{"kind", "last"}});
        return graph.output("logits", graph.linear("score", last, {.outputs = label_count(config), .biased = false}));
    }
    case Task::tokens: {
        const bool biased = config.flag("token_classification_bias", true);
        return graph.output("logits",
                            graph.linear(heads.tokens, x, {.outputs = label_count(config), .biased = biased}));
    }
    case Task::answers:
        return graph.output("logits", graph.linear("qa_outputs", x, {.outputs = 2}));
    }
}

// The score of what the decoder says next.
GraphWriter::Tensor DecoderGraph::asked(const GraphWriter::Tensor &x, const Heads &heads) const {
    const std::string &rows = draft_->token_score->rows;
    const std::string weight = !rows.empty() ? rows
                               : tied_       ? draft_->tied("lm_head.weight", heads.table)
                                             : "lm_head.weight";
    graph_->require(weight, {rows.empty() ? heads.vocabulary : 2, graph_->channels(x)});
    WordsHead head{.weight = weight, .softcap = heads.softcap};
    if (heads.biased) graph_->require(head.bias = "lm_head.bias", {heads.vocabulary});
    const GraphWriter::Tensor last =
        graph_->layer("last", "pooling", {{"x", x}, {"lengths", lengths_}}, {{"kind", "last"}});
    const GraphWriter::Tensor out = token_score(*graph_, draft_->weights, head, *draft_->token_score, last);
    if (weight != heads.table) draft_->unused.insert(weight);
    if (heads.biased) draft_->unused.insert(head.bias);
    return out;
}

GraphWriter::Tensor DecoderGraph::words(const GraphWriter::Tensor &x, const Heads &heads) const {
    const std::string weight = tied_ ? draft_->tied("lm_head.weight", heads.table) : "";
    const GraphWriter::Tensor logits =
        graph_->linear("lm_head", x, {.outputs = heads.vocabulary, .biased = heads.biased, .weight = weight});
    if (heads.softcap == 0) return logits;
    return graph_->layer("lm_head.softcap", "activation", {{"x", logits}},
                         {{"activation", "tanh"}, {"scale", heads.softcap}});
}

} // namespace lamina::architectures
