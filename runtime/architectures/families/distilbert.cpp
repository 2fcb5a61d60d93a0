// DistilBERT (Sanh et al., arXiv:1910.01108).
#include "architectures/architecture.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr double norm_eps = 1e-12;

constexpr std::string_view base = "distilbert";

Task task_of_weights(const model::Weights &weights) {
    const auto has = [&](const char *tensor) { return weights.entries().contains(tensor); };
    if (has("pre_classifier.weight")) return Task::texts;
    if (has("classifier.weight")) return Task::tokens;
    if (has("qa_outputs.weight")) return Task::answers;
    return has("vocab_transform.weight") ? Task::words : Task::none;
}

void add_head(Draft &draft, GraphWriter &graph, const Tensor &x, const Tensor &lengths, const std::string &prefix,
              const std::string &activation) {
    const bool tied = draft.config.flag("tie_word_embeddings"); // only the head of words can be
    if (draft.sentences) return graph.output("embedding", draft.sentences->layers(graph, draft.weights, x, lengths));
    if (!draft.task) draft.task = task_of_weights(draft.weights);
    switch (*draft.task) {
    case Task::none:
        break;
    case Task::texts: {
        const Tensor first = graph.layer(prefix + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
        const Tensor hidden = graph.activated("relu", graph.linear("pre_classifier", first, {}));
        return graph.output("logits", graph.linear("classifier", hidden, {.outputs = label_count(draft.config)}));
    }
    case Task::tokens:
        return graph.output("logits", graph.linear("classifier", x, {.outputs = label_count(draft.config)}));
    case Task::answers:
        return graph.output("logits", graph.linear("qa_outputs", x, {.outputs = label_count(draft.config)}));
    case Task::words: {
        const Tensor hidden = graph.activated(activation, graph.linear("vocab_transform", x, {}));
        const Tensor normed = graph.layer_norm("vocab_layer_norm", hidden, {.eps = norm_eps});
        const std::string table = prefix + "embeddings.word_embeddings.weight", own = "vocab_projector.weight";
        const std::string head = tied ? draft.tied(own, table) : own;
        return graph.output("logits", graph.linear("vocab_projector", normed,
                                                   {.outputs = draft.config.positive("vocab_size"), .weight = head}));
    }
    }
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("n_layers"), heads = config.positive("n_heads");
    const int64_t positions = config.positive("max_position_embeddings");
    const int64_t vocabulary = config.positive("vocab_size"), width = config.positive("dim");
    const int64_t hidden = config.positive("hidden_dim");
    const std::string activation = config.activation("activation");

    const std::string prefix = std::string(base) + ".", embeddings = prefix + "embeddings.";
    GraphWriter &graph = draft.graph("encode");
    const Tensor ids = graph.input("ids", DType::i32, "B T"), lengths = graph.input("lengths", DType::i32, "B");
    Tensor x = graph.embedding(embeddings + "word_embeddings", ids, {.rows = vocabulary, .channels = width});
    x = graph.learned_positions(embeddings + "position_embeddings", x, "", positions);
    x = graph.layer_norm(embeddings + "LayerNorm", x, {.eps = norm_eps});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = prefix + "transformer.layer." + std::to_string(i), self = layer + ".attention";
        const Tensor q = graph.linear(self + ".q_lin", x, {}), k = graph.linear(self + ".k_lin", x, {}),
                     v = graph.linear(self + ".v_lin", x, {});
        const Tensor attended =
            graph.attention(self + ".heads", q, k, v, {.heads = heads, .kv_heads = heads, .key_lengths = lengths});
        const Tensor tokens = graph.layer_norm(
            layer + ".sa_layer_norm", graph.linear(self + ".out_lin", attended, {.residual = x}), {.eps = norm_eps});
        x = graph.feed_forward(
            layer + ".ffn", tokens,
            {.hidden = hidden, .activation = activation, .up = "lin1", .down = "lin2", .residual = tokens});
        x = graph.layer_norm(layer + ".output_layer_norm", x, {.eps = norm_eps});
    }
    graph.output("hidden", x);
    add_head(draft, graph, x, lengths, prefix, activation);
}

} // namespace

namespace families {

std::span<const Architecture> distilbert() {
    static constexpr std::array<Architecture, 1> kinds{{{"distilbert", build, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
