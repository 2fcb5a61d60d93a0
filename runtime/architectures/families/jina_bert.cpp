// JinaBERT (Guenther et al.: Jina Embeddings 2, arXiv:2310.19923): BERT whose scores fall with the distance of tokens,
// in both directions, with gated feed-forward layers. Published files call themselves "bert" and bring code of their
// own (huggingface.co/jinaai/jina-bert-implementation); that of models of code also normalizes queries and keys and
// adds each layer's input twice (huggingface.co/jinaai/jina-bert-v2-qk-post-norm).
#include "architectures/alibi.hpp"
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "base/utf8.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "bert";

class JinaBert {
  public:
    explicit JinaBert(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          prefix_(encoder_.prefix()), eps_(config_.real("layer_norm_eps")),
          heads_(config_.positive("num_attention_heads")), width_(config_.positive("hidden_size")),
          hidden_(config_.positive("intermediate_size")), activation_(gate_activation()),
          of_code_(draft.weights.entries().contains(prefix_ + "encoder.layer.0.mlp.up_gated_layer.weight")) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads", "expected a divisor of the width, " + std::to_string(width_));
    }

    void build() {
        const std::string embeddings = prefix_ + "embeddings.", table = embeddings + "word_embeddings";
        const int64_t layers = config_.layers("num_hidden_layers");
        config_.ignore({"max_position_embeddings"}); // texts may be longer, but for their settings
        Tensor x =
            graph_.embedding(table, encoder_.ids(), {.rows = config_.positive("vocab_size"), .channels = width_});
        x = graph_.embedding(embeddings + "token_type_embeddings", encoder_.token_types(),
                             {.rows = config_.positive("type_vocab_size"), .channels = width_, .residual = x});
        x = graph_.layer_norm(embeddings + "LayerNorm", x, {.eps = eps_});
        draft_.weights.add(slopes, alibi_slopes(heads_)); // as many as the file has channels, at most
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
        encoder_.add_outputs(x, {.table = table + ".weight",
                                 .words = {.dense = "cls.predictions.transform.dense",
                                           .norm = "cls.predictions.transform.LayerNorm",
                                           .activation = config_.activation("hidden_act"),
                                           .channels = width_,
                                           .weight = "cls.predictions.decoder.weight",
                                           .bias = "cls.predictions.bias",
                                           .other_bias = "cls.predictions.decoder.bias"},
                                 .eps = eps_,
                                 .pooler = prefix_ + "pooler.dense",
                                 .texts_by_pooler = true});
    }

  private:
    static constexpr const char *slopes = "bert.encoder.slopes";

    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    std::string prefix_;
    double eps_;
    int64_t heads_, width_, hidden_;
    std::string activation_;
    bool of_code_;

    [[nodiscard]] std::string gate_activation() const {
        constexpr const char *key = "feed_forward_type";
        const std::string type = draft_.gguf ? "geglu" : config_.text(key);
        if (type == "geglu") return "gelu";
        if (type == "reglu") return "relu";
        config_.fail(key, in_quotes(type) + " is not supported; supported: geglu and reglu");
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string self = name + ".attention.self", out = name + ".attention.output";
        const auto normed = [&](const std::string &norm, const Tensor &tokens) {
            return of_code_ ? graph_.layer_norm(self + norm, tokens, {.eps = eps_}) : tokens;
        };
        split_if_fused(draft_, graph_, self + ".qkv",
                       {.inputs = width_,
                        .parts = {{self + ".query", width_}, {self + ".key", width_}, {self + ".value", width_}}});
        const Tensor q = normed(".layer_norm_q", graph_.linear(self + ".query", x, {})),
                     k = normed(".layer_norm_k", graph_.linear(self + ".key", x, {})),
                     v = graph_.linear(self + ".value", x, {});
        const Tensor attended = graph_.attention(
            name + ".attention.heads", q, k, v,
            {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths(), .slopes = slopes});
        Tensor tokens = graph_.linear(out + ".dense", attended, {.residual = x});
        tokens = graph_.layer_norm(out + ".LayerNorm", tokens, {.eps = eps_, .residual = of_code_ ? x : Tensor()});
        if (of_code_) tokens = graph_.layer_norm(name + ".layer_norm_1", tokens, {.eps = eps_});
        return graph_.layer_norm(name + (of_code_ ? ".layer_norm_2" : ".mlp.layernorm"), fed(name + ".mlp", tokens),
                                 {.eps = eps_});
    }

    // The file has the matrices of gates and of what they let through as one: gates come first, but last in models of
    // code. GGUF files of before 2025 have them apart.
    Tensor fed(const std::string &mlp, const Tensor &tokens) {
        const std::string both = of_code_ ? "up_gated_layer" : "gated_layers";
        const std::pair<std::string, int64_t> gate{mlp + ".gate_proj", hidden_}, up{mlp + ".up_proj", hidden_};
        const bool apart = draft_.gguf && draft_.weights.entries().contains(gate.first + ".weight");
        if (!apart)
            split(draft_, graph_, mlp + "." + both,
                  {.inputs = width_, .parts = {of_code_ ? up : gate, of_code_ ? gate : up}});
        return graph_.feed_forward(mlp, tokens,
                                   {.hidden = hidden_,
                                    .activation = activation_,
                                    .up = apart ? both : "up_proj",
                                    .down = of_code_ ? "down_layer" : "wo",
                                    .gate = "gate_proj",
                                    .residual = tokens,
                                    .biased = false,
                                    .down_biased = true});
    }
};

// Files of models of code are refused, by their other tensors: llama.cpp takes one half of their feed-forward layers
// for the other.
constexpr std::array<TensorName, 13> tensors{{
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "bert.embeddings.LayerNorm"},
    {"blk.{i}.attn_q", "bert.encoder.layer.{i}.attention.self.query"},
    {"blk.{i}.attn_k", "bert.encoder.layer.{i}.attention.self.key"},
    {"blk.{i}.attn_v", "bert.encoder.layer.{i}.attention.self.value"},
    {"blk.{i}.attn_qkv", "bert.encoder.layer.{i}.attention.self.qkv"},
    {"blk.{i}.attn_output", "bert.encoder.layer.{i}.attention.output.dense"},
    {"blk.{i}.attn_output_norm", "bert.encoder.layer.{i}.attention.output.LayerNorm"},
    {"blk.{i}.ffn_gate", "bert.encoder.layer.{i}.mlp.gate_proj"},
    {"blk.{i}.ffn_up", "bert.encoder.layer.{i}.mlp.gated_layers"},
    {"blk.{i}.ffn_down", "bert.encoder.layer.{i}.mlp.wo"},
    {"blk.{i}.layer_output_norm", "bert.encoder.layer.{i}.mlp.layernorm"},
}};

} // namespace

namespace families {

std::span<const Architecture> jina_bert() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"jina_bert",
          [](Draft &draft) { JinaBert(draft).build(); },
          {.architecture = "jina-bert-v2", .tensors = tensors, .encoder = true},
          base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
