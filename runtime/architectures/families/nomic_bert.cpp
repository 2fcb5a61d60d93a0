// Nomic Embed (Nussbaum et al., arXiv:2402.01613) and GTE (Zhang et al., arXiv:2407.19669; "new" in its files): BERT
// with rotary positions and gated feed-forward layers.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/rotary.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    std::string_view base;
    std::string_view heads_together;    // a module of a layer, in published files
    bool attention_biased, down_biased; // of the feed-forward layer, only the way back has a bias
    RotaryKind rotary = {};
};

class NomicBert {
  public:
    NomicBert(Draft &draft, const Kind &kind)
        : draft_(draft), config_(draft.config), kind_(kind), encoder_(draft, kind.base), graph_(encoder_.graph()),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          head_dim_(config_.integer("head_dim", width_ / heads_)), hidden_(config_.positive("intermediate_size")),
          activation_(config_.activation("hidden_act")), eps_(config_.real("layer_norm_eps")),
          turned_(draft, std::string(kind.base) + ".rotary.frequencies", rotary(draft, head_dim_, kind.rotary), false) {
    }

    // `heads` lacks what all have alike.
    void build(EncoderGraph::Heads heads) {
        const std::string prefix = encoder_.prefix(), embeddings = prefix + "embeddings.";
        const int64_t layers = config_.layers("num_hidden_layers"), types = config_.integer("type_vocab_size");
        Tensor x = graph_.embedding(embeddings + "word_embeddings", encoder_.ids(),
                                    {.rows = config_.positive("vocab_size"), .channels = width_});
        if (types != 0)
            x = graph_.embedding(embeddings + "token_type_embeddings", encoder_.token_types(),
                                 {.rows = types, .channels = width_, .residual = x});
        x = graph_.layer_norm(embeddings + "LayerNorm", x, {.eps = eps_});
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix + "layers." + std::to_string(i), x);
        heads.table = embeddings + "word_embeddings.weight";
        heads.eps = eps_;
        heads.words.channels = width_;
        if (heads.words.activation.empty()) heads.words.activation = activation_;
        heads.pooler = prefix + "pooler.dense";
        heads.texts_by_pooler = true;
        encoder_.add_outputs(x, heads);
    }

  private:
    Draft &draft_;
    const Config &config_;
    Kind kind_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    int64_t width_, heads_, head_dim_, hidden_;
    std::string activation_;
    double eps_;
    RotaryLayer turned_;

    // Published files store matrices together.
    void split_if_fused(const std::string &name) {
        const std::string self = name + ".self_attn", mlp = name + ".mlp";
        const auto if_there = [&](const std::string &module, const Fused &fused) {
            if (draft_.weights.entries().contains(module + ".weight")) split(draft_, graph_, module, fused);
        };
        const int64_t rows = heads_ * head_dim_;
        if_there(name + "." + std::string(kind_.heads_together),
                 {.inputs = width_,
                  .parts = {{self + ".q_proj", rows}, {self + ".k_proj", rows}, {self + ".v_proj", rows}},
                  .biased = kind_.attention_biased});
        if_there(mlp + ".up_gate_proj",
                 {.inputs = width_, .parts = {{mlp + ".up_proj", hidden_}, {mlp + ".gate_proj", hidden_}}});
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        split_if_fused(name);
        const std::string self = name + ".self_attn";
        const auto projected = [&](const char *part) {
            return graph_.linear(self + part, x, {.outputs = heads_ * head_dim_, .biased = kind_.attention_biased});
        };
        const Tensor q = turned_(graph_, self + ".q_rotary", projected(".q_proj"), heads_, ""),
                     k = turned_(graph_, self + ".k_rotary", projected(".k_proj"), heads_, "");
        const Tensor attended =
            graph_.attention(self + ".heads", q, k, projected(".v_proj"),
                             {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths()});
        const Tensor out = graph_.linear(self + ".o_proj", attended, {.residual = x, .biased = kind_.attention_biased});
        const Tensor tokens = graph_.layer_norm(name + ".post_attention_layernorm", out, {.eps = eps_});
        const Tensor fed = graph_.feed_forward(name + ".mlp", tokens,
                                               {.hidden = hidden_,
                                                .activation = activation_,
                                                .gate = "gate_proj",
                                                .residual = tokens,
                                                .biased = false,
                                                .down_biased = kind_.down_biased});
        return graph_.layer_norm(name + ".post_mlp_layernorm", fed, {.eps = eps_});
    }
};

void build_nomic(Draft &draft) {
    NomicBert(draft, {"nomic_bert", "attn.Wqkv", false, false})
        .build({.words = {.dense = "cls.predictions.transform.dense",
                          .norm = "cls.predictions.transform.layer_norm",
                          .weight = "cls.predictions.decoder.weight",
                          .bias = "cls.predictions.bias",
                          .other_bias = "cls.predictions.decoder.bias"}});
}
void build_gte(Draft &draft) {
    NomicBert(draft, {"gte", "attention.qkv_proj", true, true, {.ntk = draft.config.text("model_type") == "new"}})
        .build({.words = {.dense = "lm_head.dense",
                          .norm = "lm_head.layer_norm",
                          .activation = "gelu",
                          .weight = "lm_head.decoder.weight",
                          .bias = "lm_head.decoder.bias"}});
}

constexpr std::array<Renaming, 8> nomic_names{{
    {"encoder.layers", "layers"},
    {"emb_ln", "embeddings.LayerNorm"},
    {"attn.out_proj", "self_attn.o_proj"},
    {"fc11", "up_proj"},
    {"fc12", "gate_proj"},
    {"fc2", "down_proj"},
    {"norm1", "post_attention_layernorm"},
    {"norm2", "post_mlp_layernorm"},
}};
constexpr std::array<Renaming, 6> gte_names{{
    {"new.", "gte."}, // a part of the model's name
    {"encoder.layer.", "layers."},
    {"attention.o_proj", "self_attn.o_proj"},
    {"attn_ln", "post_attention_layernorm"},
    {"mlp_ln", "post_mlp_layernorm"},
    {"lm_head.norm", "lm_head.layer_norm"},
}};

constexpr std::array<TensorName, 10> tensors{{
    {"token_embd", "nomic_bert.embeddings.word_embeddings"},
    {"token_types", "nomic_bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "nomic_bert.embeddings.LayerNorm"},
    {"blk.{i}.attn_qkv", "nomic_bert.layers.{i}.attn.Wqkv"},
    {"blk.{i}.attn_output", "nomic_bert.layers.{i}.self_attn.o_proj"},
    {"blk.{i}.attn_output_norm", "nomic_bert.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_up", "nomic_bert.layers.{i}.mlp.up_proj"},
    {"blk.{i}.ffn_gate", "nomic_bert.layers.{i}.mlp.gate_proj"},
    {"blk.{i}.ffn_down", "nomic_bert.layers.{i}.mlp.down_proj"},
    {"blk.{i}.layer_output_norm", "nomic_bert.layers.{i}.post_mlp_layernorm"},
}};

} // namespace

namespace families {

std::span<const Architecture> nomic_bert() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"gte", build_gte, {}, "gte", gte_names},
        {"new", build_gte, {}, "gte", gte_names},
        {"nomic_bert",
         build_nomic,
         {.architecture = "nomic-bert", .tensors = tensors, .encoder = true},
         "nomic_bert",
         nomic_names},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
