#include "architectures/decoder_graph.hpp"

namespace lamina::architectures {
namespace {

Task task_of(const Draft &draft, bool tied) {
    if (draft.sentences) return Task::none;
    if (draft.task) return *draft.task;
    return tied || draft.weights.entries().contains("lm_head.weight") ? Task::words : Task::none;
}

} // namespace

DecoderGraph::DecoderGraph(Draft &draft)
    : draft_(&draft), tied_(draft.config.flag("tie_word_embeddings")), task_(task_of(draft, tied_)),
      graph_(&draft.graph(task_ == Task::words ? "decode" : "encode")), ids_(graph_->input("ids", DType::i32, "B T")) {
    draft.causal = true;
    if (task_ == Task::words)
        position_ = graph_->input("position", DType::i32, "B");
    else
        lengths_ = graph_->input("lengths", DType::i32, "B");
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
        return;
    case Task::texts: {
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

GraphWriter::Tensor DecoderGraph::words(const GraphWriter::Tensor &x, const Heads &heads) const {
    const std::string weight = tied_ ? draft_->tied("lm_head.weight", heads.table) : "";
    const GraphWriter::Tensor logits =
        graph_->linear("lm_head", x, {.outputs = heads.vocabulary, .biased = false, .weight = weight});
    if (heads.softcap == 0) return logits;
    return graph_->layer("lm_head.softcap", "activation", {{"x", logits}},
                         {{"activation", "tanh"}, {"scale", heads.softcap}});
}

} // namespace lamina::architectures
