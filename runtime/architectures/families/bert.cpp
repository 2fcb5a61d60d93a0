// BERT (Devlin et al., arXiv:1810.04805) and RoBERTa (Liu et al., arXiv:1907.11692), with the heads of their published
// models: sentence embeddings, text and token classification, masked language modelling.
#include "architectures/architecture.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    std::string_view base; // Architecture::base
    bool roberta;          // positions start after the padding token's id; another head for texts
    const char *words_dense, *words_norm, *words; // modules of the head for words
};

class Bert {
  public:
    Bert(Draft &draft, const Kind &kind)
        : draft_(draft), config_(draft.config), kind_(kind), graph_(draft.graph("encode")),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          prefix_(std::string(kind.base) + "."), heads_(config_.positive("num_attention_heads")),
          layers_(config_.layers("num_hidden_layers")), width_(config_.positive("hidden_size")),
          vocabulary_(config_.positive("vocab_size")) {}

    void build() {
        lengths_ = graph_.input("lengths", DType::i32, "B");
        Tensor x = embeddings();
        for (int64_t i = 0; i < layers_; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
        graph_.output("hidden", x);
        heads(x);
    }

  private:
    Draft &draft_;
    const Config &config_;
    Kind kind_;
    GraphWriter &graph_;
    std::string activation_;
    double eps_;
    std::string prefix_, lengths_;
    int64_t heads_, layers_, width_, vocabulary_;

    [[nodiscard]] bool has(const std::string &tensor) const { return draft_.weights.entries().contains(tensor); }

    Tensor embeddings() {
        const std::string name = prefix_ + "embeddings.", table = name + "position_embeddings.weight";
        const int64_t rows = config_.positive("max_position_embeddings");
        const int64_t first = kind_.roberta ? config_.integer("pad_token_id") + 1 : 0;
        std::string positions = name + "position_embeddings";
        graph_.require(table, {rows, width_});
        if (first != 0) {
            positions = name + "positions";
            draft_.weights.add(positions + ".weight", draft_.weights.at(table).rows(first, rows));
            draft_.unused.insert(table);
        }
        const Tensor ids = graph_.input("ids", DType::i32, "B T"),
                     types = graph_.input("token_types", DType::i32, "B T");
        const Tensor words = graph_.embedding(name + "word_embeddings", ids, {.rows = vocabulary_, .channels = width_});
        const Tensor placed = graph_.learned_positions(positions, words, "", rows - first);
        const Tensor typed =
            graph_.embedding(name + "token_type_embeddings", types,
                             {.rows = config_.positive("type_vocab_size"), .channels = width_, .residual = placed});
        return graph_.layer_norm(name + "LayerNorm", typed, {.eps = eps_});
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string self = name + ".attention.self";
        const Tensor q = graph_.linear(self + ".query", x, {}), k = graph_.linear(self + ".key", x, {}),
                     v = graph_.linear(self + ".value", x, {});
        const Tensor attended =
            graph_.attention(self + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_, .key_lengths = lengths_});
        const Tensor out = graph_.linear(name + ".attention.output.dense", attended, {.residual = x});
        const Tensor tokens = graph_.layer_norm(name + ".attention.output.LayerNorm", out, {.eps = eps_});
        const Tensor fed = graph_.feed_forward(name, tokens,
                                               {.hidden = config_.positive("intermediate_size"),
                                                .activation = activation_,
                                                .up = "intermediate.dense",
                                                .down = "output.dense",
                                                .residual = tokens});
        return graph_.layer_norm(name + ".output.LayerNorm", fed, {.eps = eps_});
    }

    // ---- Heads ----

    void heads(const Tensor &x) {
        const bool tied = config_.flag("tie_word_embeddings"); // only the head of words can be
        if (draft_.sentences) {
            graph_.output("embedding", draft_.sentences->layers(graph_, draft_.weights, x, lengths_));
            leave_out(prefix_ + "pooler.dense");
            return;
        }
        if (!draft_.task) draft_.task = task_of_weights();
        const Tensor summary = pooled(x);
        switch (*draft_.task) {
        case Task::none:
            break;
        case Task::words:
            return graph_.output("logits", words(x, tied));
        case Task::texts:
            return graph_.output(
                "logits", kind_.roberta ? roberta_classes(x)
                                        : graph_.linear("classifier", summary, {.outputs = label_count(config_)}));
        case Task::tokens:
            return graph_.output("logits", graph_.linear("classifier", x, {.outputs = label_count(config_)}));
        case Task::answers:
            return graph_.output("logits", graph_.linear("qa_outputs", x, {.outputs = label_count(config_)}));
        }
    }

    [[nodiscard]] Task task_of_weights() const {
        if (has(std::string(kind_.words) + ".bias")) return Task::words;
        if (has("qa_outputs.weight")) return Task::answers;
        if (has("classifier.out_proj.weight")) return Task::texts;
        if (!has("classifier.weight")) return Task::none;
        return has(prefix_ + "pooler.dense.weight") ? Task::texts : Task::tokens;
    }

    // The pooler's output, which only some heads were trained with; none: the model has no pooler.
    Tensor pooled(const Tensor &x) {
        const std::string pooler = prefix_ + "pooler.dense";
        const Task task = *draft_.task;
        const bool needed = task == Task::texts && !kind_.roberta, possible = task == Task::words || task == Task::none;
        if (!needed && !(possible && (has(pooler + ".weight") || has(pooler + ".bias")))) return leave_out(pooler);
        const Tensor out = graph_.activated("tanh", graph_.linear(pooler, first(x), {}));
        graph_.output("pooled", out);
        return out;
    }

    Tensor roberta_classes(const Tensor &x) {
        const Tensor dense = graph_.activated("tanh", graph_.linear("classifier.dense", first(x), {}));
        return graph_.linear("classifier.out_proj", dense, {.outputs = label_count(config_)});
    }

    // The masked-language-modelling head, which may share the embedding table. Its bias has two names.
    Tensor words(const Tensor &x, bool tied) {
        const std::string activation = kind_.roberta ? "gelu" : activation_; // whatever RoBERTa's layers have
        const Tensor hidden = graph_.activated(activation, graph_.linear(kind_.words_dense, x, {}));
        const std::string name = kind_.words, table = prefix_ + "embeddings.word_embeddings.weight";
        const auto shared = [&](const char *part, const std::string &with) {
            const std::string own = name + ".decoder" + part;
            return tied ? draft_.tied(own, with) : own;
        };
        const std::string bias = shared(".bias", name + ".bias");
        if (bias != name + ".bias") draft_.unused.insert(name + ".bias");
        return graph_.linear(name, graph_.layer_norm(kind_.words_norm, hidden, {.eps = eps_}),
                             {.outputs = vocabulary_, .weight = shared(".weight", table), .bias = bias});
    }

    Tensor first(const Tensor &x) {
        return graph_.layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
    }
    Tensor leave_out(const std::string &module) {
        for (const char *kind : {".weight", ".bias"}) draft_.unused.insert(module + kind);
        return "";
    }
};

constexpr Kind bert_kind{"bert", false, "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                         "cls.predictions"};
constexpr Kind roberta_kind{"roberta", true, "lm_head.dense", "lm_head.layer_norm", "lm_head"};

void build_bert(Draft &draft) { Bert(draft, bert_kind).build(); }
void build_roberta(Draft &draft) { Bert(draft, roberta_kind).build(); }

} // namespace

namespace families {

std::span<const Architecture> bert() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"bert", build_bert, {}, bert_kind.base},
        {"roberta", build_roberta, {}, roberta_kind.base},
        {"xlm-roberta", build_roberta, {}, roberta_kind.base},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
