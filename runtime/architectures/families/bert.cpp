// BERT (Devlin et al., arXiv:1810.04805), RoBERTa (Liu et al., arXiv:1907.11692), XLM-RoBERTa (arXiv:1911.02116),
// CamemBERT (arXiv:1911.03894), ELECTRA (Clark et al., arXiv:2003.10555) and MPNet (Song et al., arXiv:2004.09297),
// with the heads of their published models.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_modules.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    std::string_view base;               // Architecture::base
    std::string_view q, k, v, o, o_norm; // modules of a layer
    bool padded_positions = false;       // positions start after the padding token's id
    bool typed = true;                   // tokens are of types
    bool narrow = false;                 // embeddings may have fewer channels than layers
    bool relative = false;               // scores have a bias by distance, which all layers share
};

class Bert {
  public:
    Bert(Draft &draft, const Kind &kind)
        : draft_(draft), config_(draft.config), kind_(kind), encoder_(draft, kind.base), graph_(encoder_.graph()),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          prefix_(encoder_.prefix()), heads_(config_.positive("num_attention_heads")),
          layers_(config_.layers("num_hidden_layers")), width_(config_.positive("hidden_size")),
          embedded_(kind.narrow ? config_.positive("embedding_size") : width_) {}

    // `heads` lacks what all have alike.
    void build(EncoderGraph::Heads heads) {
        Tensor x = embeddings();
        if (embedded_ != width_) x = graph_.linear(prefix_ + "embeddings_project", x, {.outputs = width_});
        const Tensor bias = kind_.relative ? distance_bias() : "";
        for (int64_t i = 0; i < layers_; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x, bias);
        heads.table = prefix_ + "embeddings.word_embeddings.weight";
        heads.eps = eps_;
        heads.words.channels = embedded_;
        if (heads.words.activation.empty()) heads.words.activation = activation_;
        encoder_.add_outputs(x, heads);
    }

  private:
    Draft &draft_;
    const Config &config_;
    Kind kind_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    std::string activation_;
    double eps_;
    std::string prefix_;
    int64_t heads_, layers_, width_;
    int64_t embedded_; // channels of embeddings

    Tensor embeddings() {
        // MPNet's padding token has the id 1, whatever config.json says (transformers, modeling_mpnet.py).
        const int64_t first = !kind_.padded_positions ? 0 : kind_.typed ? config_.integer("pad_token_id") + 1 : 2;
        const std::string name = prefix_ + "embeddings.";
        const bool typed = // a GGUF file of DistilBERT has no types
            kind_.typed && (!draft_.gguf || draft_.weights.entries().contains(name + "token_type_embeddings.weight"));
        const Tensor all = encoder_.embeddings({.channels = embedded_, .first_position = first, .typed = typed});
        return graph_.layer_norm(name + "LayerNorm", all, {.eps = eps_});
    }

    // The tables of MPNet have 32 buckets that count, whatever their size.
    Tensor distance_bias() {
        constexpr int64_t buckets = 32, max_distance = 128;
        const std::string name = prefix_ + "encoder.relative_attention_bias", table = name + ".weight";
        const int64_t rows = config_.positive("relative_attention_num_buckets");
        if (rows < buckets)
            config_.fail("relative_attention_num_buckets", "expected at least " + std::to_string(buckets));
        graph_.require(table, {rows, heads_});
        draft_.weights.add(name + ".buckets", draft_.weights.at(table).rows(0, buckets));
        draft_.unused.insert(table);
        return graph_.layer(name, "relative_position_bias", {},
                            {{"max_distance", max_distance}, {"bidirectional", true}}, {{"table", name + ".buckets"}});
    }

    Tensor layer(const std::string &name, const Tensor &x, const Tensor &bias) {
        const auto module = [&](std::string_view part) { return name + "." + std::string(part); };
        const int64_t width = graph_.channels(x);
        split_if_fused(
            draft_, graph_, module("attention.self.qkv"),
            {.inputs = width, .parts = {{module(kind_.q), width}, {module(kind_.k), width}, {module(kind_.v), width}}});
        const Tensor q = graph_.linear(module(kind_.q), x, {}), k = graph_.linear(module(kind_.k), x, {}),
                     v = graph_.linear(module(kind_.v), x, {});
        const Tensor attended = graph_.attention(
            module("attention.heads"), q, k, v,
            {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths(), .distance_bias = bias});
        const Tensor out = graph_.linear(module(kind_.o), attended, {.residual = x});
        const Tensor tokens = graph_.layer_norm(module(kind_.o_norm), out, {.eps = eps_});
        const Tensor fed = graph_.feed_forward(name, tokens,
                                               {.hidden = config_.positive("intermediate_size"),
                                                .activation = activation_,
                                                .up = "intermediate.dense",
                                                .down = "output.dense",
                                                .residual = tokens});
        return graph_.layer_norm(name + ".output.LayerNorm", fed, {.eps = eps_});
    }
};

constexpr Kind bert_kind{"bert",
                         "attention.self.query",
                         "attention.self.key",
                         "attention.self.value",
                         "attention.output.dense",
                         "attention.output.LayerNorm"};

constexpr Kind roberta_kind = [] {
    Kind out = bert_kind;
    out.base = "roberta", out.padded_positions = true;
    return out;
}();

constexpr Kind electra_kind = [] {
    Kind out = bert_kind;
    out.base = "electra", out.narrow = true;
    return out;
}();

constexpr Kind mpnet_kind{.base = "mpnet",
                          .q = "attention.attn.q",
                          .k = "attention.attn.k",
                          .v = "attention.attn.v",
                          .o = "attention.attn.o",
                          .o_norm = "attention.LayerNorm",
                          .padded_positions = true,
                          .typed = false,
                          .relative = true};

// The heads of RoBERTa, whose activation is gelu whatever its layers have.
EncoderGraph::Heads roberta_heads(std::string_view base) {
    return {.words = {.dense = "lm_head.dense",
                      .norm = "lm_head.layer_norm",
                      .activation = "gelu",
                      .weight = "lm_head.decoder.weight",
                      .bias = "lm_head.bias",
                      .other_bias = "lm_head.decoder.bias"},
            .pooler = std::string(base) + ".pooler.dense",
            .dense = "classifier.dense",
            .out = "classifier.out_proj"};
}

// GGUF files have no other head than RoBERTa's, or DistilBERT's, which has another activation and whose tokens no
// types.
void build_bert(Draft &draft) {
    if (draft.gguf) {
        EncoderGraph::Heads heads = roberta_heads("bert");
        const auto is_of_types = [](const auto &each) { return each.first.ends_with("token_type_embeddings.weight"); };
        if (std::ranges::none_of(draft.weights.entries(), is_of_types)) heads.activation = "relu";
        return Bert(draft, bert_kind).build(heads);
    }
    Bert(draft, bert_kind)
        .build({.words = {.dense = "cls.predictions.transform.dense",
                          .norm = "cls.predictions.transform.LayerNorm",
                          .weight = "cls.predictions.decoder.weight",
                          .bias = "cls.predictions.bias",
                          .other_bias = "cls.predictions.decoder.bias"},
                .pooler = "bert.pooler.dense",
                .texts_by_pooler = true});
}

void build_roberta(Draft &draft) { Bert(draft, roberta_kind).build(roberta_heads("roberta")); }
void build_mpnet(Draft &draft) { Bert(draft, mpnet_kind).build(roberta_heads("mpnet")); }

void build_electra(Draft &draft) {
    const std::string detector = "discriminator_predictions";
    // Most files are of a model that tells words which were replaced; what is wanted of them is what it knows of words.
    if (draft.task == Task::words && draft.weights.entries().contains(detector + ".dense.weight") &&
        !draft.weights.entries().contains("generator_predictions.dense.weight"))
        draft.task = Task::none;
    Bert(draft, electra_kind)
        .build({.words = {.dense = "generator_predictions.dense",
                          .norm = "generator_predictions.LayerNorm",
                          .activation = "gelu",
                          .weight = "generator_lm_head.weight",
                          .bias = "generator_lm_head.bias"},
                .dense = "classifier.dense",
                .activation = "gelu",
                .out = "classifier.out_proj"});
}

constexpr std::array<TensorName, 15> tensors{{
    {"cls", "classifier.dense"},
    {"cls.output", "classifier.out_proj"},
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"position_embd", "bert.embeddings.position_embeddings"},
    {"token_embd_norm", "bert.embeddings.LayerNorm"},
    {"blk.{i}.attn_q", "bert.encoder.layer.{i}.attention.self.query"},
    {"blk.{i}.attn_k", "bert.encoder.layer.{i}.attention.self.key"},
    {"blk.{i}.attn_v", "bert.encoder.layer.{i}.attention.self.value"},
    {"blk.{i}.attn_qkv", "bert.encoder.layer.{i}.attention.self.qkv"},
    {"blk.{i}.attn_output", "bert.encoder.layer.{i}.attention.output.dense"},
    {"blk.{i}.attn_output_norm", "bert.encoder.layer.{i}.attention.output.LayerNorm"},
    {"blk.{i}.ffn_up", "bert.encoder.layer.{i}.intermediate.dense"},
    {"blk.{i}.ffn_down", "bert.encoder.layer.{i}.output.dense"},
    {"blk.{i}.layer_output_norm", "bert.encoder.layer.{i}.output.LayerNorm"},
}};

} // namespace

namespace families {

std::span<const Architecture> bert() {
    static constexpr std::array<Architecture, 6> kinds{{
        {"bert", build_bert, {.architecture = "bert", .tensors = tensors, .encoder = true}, bert_kind.base},
        {"camembert", build_roberta, {}, roberta_kind.base},
        {"electra", build_electra, {}, electra_kind.base},
        {"mpnet", build_mpnet, {}, mpnet_kind.base},
        {"roberta", build_roberta, {}, roberta_kind.base},
        {"xlm-roberta", build_roberta, {}, roberta_kind.base},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
