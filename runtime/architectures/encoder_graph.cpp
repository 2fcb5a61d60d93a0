#include "architectures/encoder_graph.hpp"

namespace lamina::architectures {

EncoderGraph::EncoderGraph(Draft &draft, std::string_view base)
    : draft_(&draft), graph_(&draft.graph("encode")), prefix_(std::string(base) + "."),
      tied_(draft.config.flag("tie_word_embeddings")), lengths_(graph_->input("lengths", DType::i32, "B")),
      ids_(graph_->input("ids", DType::i32, "B T")) {}

GraphWriter::Tensor EncoderGraph::embeddings(const Embeddings &options) const {
    const Config &config = draft_->config;
    const std::string name = prefix_ + "embeddings.", table = name + "position_embeddings.weight";
    const int64_t rows = config.positive("max_position_embeddings"), first = options.first_position;
    std::string positions = name + "position_embeddings";
    graph_->require(table, {rows, options.channels});
    if (first != 0) {
        positions = name + "positions";
        draft_->weights.add(positions + ".weight", draft_->weights.at(table).rows(first, rows));
        draft_->unused.insert(table);
    }
    const GraphWriter::Tensor words = graph_->embedding(
        name + "word_embeddings", ids_, {.rows = config.positive("vocab_size"), .channels = options.channels});
    const GraphWriter::Tensor placed = graph_->learned_positions(positions, words, "", rows - first);
    if (!options.typed) return placed;
    return graph_->embedding(
        name + "token_type_embeddings", token_types(),
        {.rows = config.positive("type_vocab_size"), .channels = options.channels, .residual = placed});
}

Task EncoderGraph::task(const Heads &heads) {
    if (draft_->sentences) return Task::none;
    if (!draft_->task) draft_->task = task_of_weights(heads);
    return *draft_->task;
}

void EncoderGraph::add_outputs(const GraphWriter::Tensor &x, const Heads &heads) {
    graph_->output("hidden", x);
    if (const auto &sentences = draft_->sentences) {
        const GraphWriter::Tensor given = sentences->of_words() ? words(x, heads) : x;
        graph_->output("embedding", sentences->layers(*graph_, draft_->weights, given, lengths_));
        if (!heads.pooler.empty()) leave_out(heads.pooler);
        return;
    }
    const Task task = this->task(heads);
    const int64_t labels = task == Task::none || task == Task::words ? 0 : label_count(draft_->config);
    const GraphWriter::Tensor summary = pooled(x, heads);
    switch (task) {
    case Task::none:
    case Task::images:
    case Task::speech:
        return;
    case Task::words:
        return graph_->output("logits", words(x, heads));
    case Task::texts: {
        GraphWriter::Tensor features = summary;
        if (heads.transform)
            features = heads.transform(pool(x, heads.pooling));
        else if (!heads.texts_by_pooler)
            features = graph_->activated(heads.activation, graph_->linear(heads.dense, pool(x, heads.pooling), {}));
        return graph_->output("logits", graph_->linear(heads.out, features, {.outputs = labels}));
    }
    case Task::tokens:
    case Task::answers: {
        const GraphWriter::Tensor features = heads.transform ? heads.transform(x) : x;
        const std::string module = task == Task::tokens ? heads.tokens : heads.answers;
        return graph_->output("logits", graph_->linear(module, features, {.outputs = labels}));
    }
    }
}

Task EncoderGraph::task_of_weights(const Heads &heads) const {
    if (has(heads.words.bias)) return Task::words;
    if (has("qa_outputs.weight")) return Task::answers;
    if (!heads.dense.empty() && has(heads.dense + ".weight")) return Task::texts;
    if (!has("classifier.weight")) return Task::none;
    return heads.texts_by_pooler && has(heads.pooler + ".weight") ? Task::texts : Task::tokens;
}

// The pooler's output, which only some heads were trained with; none: the model has no pooler.
GraphWriter::Tensor EncoderGraph::pooled(const GraphWriter::Tensor &x, const Heads &heads) {
    if (heads.pooler.empty()) return "";
    const Task task = *draft_->task;
    const bool needed = task == Task::texts && heads.texts_by_pooler,
               possible = task == Task::words || task == Task::none;
    if (!needed && !(possible && (has(heads.pooler + ".weight") || has(heads.pooler + ".bias"))))
        return leave_out(heads.pooler);
    const GraphWriter::Tensor out = graph_->activated("tanh", graph_->linear(heads.pooler, pool(x, "first"), {}));
    graph_->output("pooled", out);
    return out;
}

GraphWriter::Tensor EncoderGraph::words(const GraphWriter::Tensor &x, const Heads &heads) {
    const Words &words = heads.words;
    GraphWriter::Tensor hidden;
    if (heads.transform) {
        hidden = heads.transform(x);
    } else {
        hidden = graph_->activated(words.activation, graph_->linear(words.dense, x, {.outputs = words.channels}));
        hidden = graph_->layer_norm(words.norm, hidden, {.eps = heads.eps});
    }
    const std::string weight = words.weight.empty() ? heads.table
                               : tied_              ? draft_->tied(words.weight, heads.table)
                                                    : words.weight;
    const std::string &named = words.weight.empty() ? words.bias : words.weight;
    std::string bias = words.bias;
    if (!words.other_bias.empty() && bias != words.other_bias) {
        bias = tied_ ? draft_->tied(words.other_bias, words.bias) : words.other_bias;
        if (bias != words.bias) draft_->unused.insert(words.bias);
    }
    return graph_->linear(
        named.substr(0, named.rfind('.')), hidden,
        {.outputs = draft_->config.positive("vocab_size"), .biased = !bias.empty(), .weight = weight, .bias = bias});
}

GraphWriter::Tensor EncoderGraph::pool(const GraphWriter::Tensor &x, const std::string &kind) const {
    if (kind == "first") return graph_->layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
    return graph_->layer(prefix_ + kind, "pooling", {{"x", x}, {"lengths", lengths_}}, {{"kind", kind}});
}

GraphWriter::Tensor EncoderGraph::leave_out(const std::string &module) {
    for (const char *kind : {".weight", ".bias"}) draft_->unused.insert(module + kind);
    return "";
}

} // namespace lamina::architectures
