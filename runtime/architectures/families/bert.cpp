// BERT (Devlin et al., arXiv:1810.04805) and RoBERTa (Liu et al., arXiv:1907.11692), with the heads of their published
// models: sentence embeddings, text and token classification, masked language modelling.
#include "architectures/architecture.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    const char *prefix;   // of the weights' names, in models with a head
    bool roberta = false; // positions start after the padding token's id, and heads have other names
};

class Bert {
  public:
    Bert(Draft &draft, const Kind &kind)
        : draft_(draft), config_(draft.config), kind_(kind), graph_(draft.graph("encode")),
          activation_(config_.activation("hidden_act", "gelu")), eps_(config_.real("layer_norm_eps", 1e-12)),
          heads_(config_.positive("num_attention_heads")), layers_(config_.layers("num_hidden_layers")) {
        const std::string with_head = std::string(kind.prefix) + ".";
        if (has(with_head + "embeddings.word_embeddings.weight")) prefix_ = with_head;
    }

    void build() {
        config_.expect("position_embedding_type", "absolute");
        config_.expect("is_decoder", false);
        config_.expect("add_cross_attention", false);
        config_.expect("tie_word_embeddings", true);
        config_.ignore({"hidden_size", "intermediate_size", "type_vocab_size"});
        lengths_ = graph_.input("lengths", DType::i32, "B");
        Tensor x = embeddings();
        for (int64_t i = 0; i < layers_; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
        graph_.output("hidden", x);
        heads(x);
        draft_.unused.insert(prefix_ + "embeddings.position_ids");
    }

  private:
    Draft &draft_;
    const Config &config_;
    Kind kind_;
    GraphWriter &graph_;
    std::string activation_, prefix_, lengths_;
    double eps_;
    int64_t heads_, layers_;

    [[nodiscard]] bool has(const std::string &tensor) const { return draft_.weights.entries().contains(tensor); }

    Tensor embeddings() {
        const std::string name = prefix_ + "embeddings.", table = name + "position_embeddings.weight";
        const int64_t rows = config_.positive("max_position_embeddings");
        const int64_t first = kind_.roberta ? config_.integer("pad_token_id", 1) + 1 : 0;
        std::string positions = name + "position_embeddings";
        if (first != 0) {
            positions = name + "positions";
            draft_.weights.add(positions + ".weight", draft_.weights.at(table).rows(first, rows));
            draft_.unused.insert(table);
        }
        const Tensor ids = graph_.input("ids", DType::i32, "B T"),
                     types = graph_.input("token_types", DType::i32, "B T");
        const Tensor words = graph_.embedding(name + "word_embeddings", ids, {});
        const Tensor placed = graph_.learned_positions(positions, words, "", rows - first);
        return graph_.layer_norm(name + "LayerNorm",
                                 graph_.embedding(name + "token_type_embeddings", types, {.residual = placed}), eps_);
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string self = name + ".attention.self";
        const Tensor q = graph_.linear(self + ".query", x, {}), k = graph_.linear(self + ".key", x, {}),
                     v = graph_.linear(self + ".value", x, {});
        const Tensor attended =
            graph_.attention(self + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_, .key_lengths = lengths_});
        const Tensor out = graph_.linear(name + ".attention.output.dense", attended, {.residual = x});
        const Tensor tokens = graph_.layer_norm(name + ".attention.output.LayerNorm", out, eps_);
        return graph_.layer_norm(
            name + ".output.LayerNorm",
            graph_.feed_forward(
                name, tokens,
                {.activation = activation_, .up = "intermediate.dense", .down = "output.dense", .residual = tokens}),
            eps_);
    }

    // ---- Heads, depending on which weights the file has ----

    void heads(const Tensor &x) {
        if (draft_.pooling) {
            graph_.output("embedding", draft_.pooling->layer(graph_, x, lengths_));
            unused("pooler.dense");
        } else if (has(prefix_ + "pooler.dense.weight")) {
            const Tensor pooled = graph_.activated("tanh", graph_.linear(prefix_ + "pooler.dense", first(x), {}));
            graph_.output("pooled", pooled);
            if (has("classifier.weight")) graph_.output("logits", graph_.linear("classifier", pooled, {}));
        } else if (has("classifier.out_proj.weight")) { // RoBERTa's text classification
            const Tensor dense = graph_.activated("tanh", graph_.linear("classifier.dense", first(x), {}));
            graph_.output("logits", graph_.linear("classifier.out_proj", dense, {}));
        } else if (has("classifier.weight")) { // token classification
            graph_.output("logits", graph_.linear("classifier", x, {}));
        }
        if (has("cls.predictions.bias"))
            words(x, "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions");
        if (has("lm_head.bias")) words(x, "lm_head.dense", "lm_head.layer_norm", "lm_head");
    }

    // The masked-language-modelling head, tied to the embedding table.
    void words(const Tensor &x, const char *dense, const char *norm, const std::string &name) {
        const Tensor hidden = graph_.layer_norm(norm, graph_.activated(activation_, graph_.linear(dense, x, {})), eps_);
        const std::string table = prefix_ + "embeddings.word_embeddings.weight";
        graph_.output("logits", graph_.layer(name, "linear", {{"x", hidden}}, {}, {{"weight", table}}));
        for (const char *copy : {".decoder.weight", ".decoder.bias"}) draft_.unused.insert(name + copy);
    }

    Tensor first(const Tensor &x) {
        return graph_.layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
    }
    void unused(const char *module) {
        for (const char *kind : {".weight", ".bias"}) draft_.unused.insert(prefix_ + module + kind);
    }
};

} // namespace

namespace families {

std::span<const Architecture> bert() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"bert", [](Draft &draft) { Bert(draft, {.prefix = "bert"}).build(); }},
        {"roberta", [](Draft &draft) { Bert(draft, {.prefix = "roberta", .roberta = true}).build(); }},
        {"xlm-roberta", [](Draft &draft) { Bert(draft, {.prefix = "roberta", .roberta = true}).build(); }},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
