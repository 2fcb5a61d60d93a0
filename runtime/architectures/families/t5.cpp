// T5 (Raffel et al., arXiv:1910.10683) and mT5 (Xue et al., arXiv:2010.11934). Version 1.1 and FLAN-T5 have gated
// feed-forward layers (Shazeer, arXiv:2002.05202) and a separate head.
#include "architectures/architecture.hpp"
#include "architectures/made_modules.hpp"
#include "base/utf8.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct FeedForwardKind {
    std::string activation; // Lamina's name
    bool gated;
};

// "feed_forward_proj" is "relu" or "gated-gelu". Files by transformers 5 also have what it says, which then counts,
// nulls too.
FeedForwardKind feed_forward_kind(const Draft &draft) {
    const Config &config = draft.config;
    if (draft.gguf) { // which only the tensors say (llama.cpp, models/t5.cpp)
        const bool gated = draft.weights.entries().contains("encoder.block.0.layer.1.DenseReluDense.wi_0.weight");
        return {.activation = gated ? "gelu_tanh" : "relu", .gated = gated};
    }
    std::string name = config.text("feed_forward_proj");
    const bool gated = name.starts_with("gated-");
    if (gated) name.erase(0, 6);
    if (gated && name == "gelu") name = "gelu_new"; // as in the first files of version 1.1
    return {.activation = config.states("dense_act_fn") ? config.activation("dense_act_fn")
                                                        : config.activation_named("feed_forward_proj", name),
            .gated = config.states("is_gated_act") ? config.flag("is_gated_act") : gated};
}

// Whether only the encoder is wanted, as by sentence-t5.
bool is_encoder(const Draft &draft) {
    const std::vector<std::string> classes = draft.config.texts("architectures");
    if (draft.sentences || (!classes.empty() && classes.front().ends_with("T5EncoderModel"))) return true;
    if (draft.task && *draft.task != Task::words && *draft.task != Task::none)
        draft.config.fail("architectures", "classifiers made of T5 are not supported; supported: "
                                           "T5ForConditionalGeneration and T5EncoderModel");
    return false;
}

class T5 {
  public:
    T5(Draft &draft, bool scales)
        : draft_(draft), config_(draft.config), scales_(scales), is_encoder_(is_encoder(draft)),
          encode_(draft.graph("encode")), decode_(is_encoder_ ? encode_ : draft.graph("decode")),
          heads_(config_.positive("num_heads")), width_(config_.positive("d_model")),
          inner_(heads_ * config_.positive("d_kv")), vocabulary_(config_.positive("vocab_size")),
          max_distance_(config_.integer("relative_attention_max_distance")), eps_(config_.real("layer_norm_epsilon")),
          feed_forward_(feed_forward_kind(draft)),
          table_(draft.first_of(
              {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"})) {}

    void build() {
        const int64_t layers = config_.layers("num_layers");
        const Tensor memory = encoder(layers);
        encode_.output("hidden", memory);
        if (is_encoder_) return leave_out_decoder(memory);
        decode_.output(
            "logits",
            head(decoder(config_.find("num_decoder_layers") ? config_.layers("num_decoder_layers") : layers, memory)));
        draft_.unused.insert("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
    }

  private:
    Draft &draft_;
    const Config &config_;
    bool scales_; // what the head takes, if it shares the embedding table; mT5 does not
    bool is_encoder_;
    GraphWriter &encode_, &decode_; // the same one in a model without a decoder
    int64_t heads_, width_;
    int64_t inner_; // channels of queries, keys and values, of all heads
    int64_t vocabulary_;
    int64_t max_distance_;
    double eps_;
    FeedForwardKind feed_forward_;
    std::string table_; // the shared embedding table

    // Of a file that may have one all the same.
    void leave_out_decoder(const Tensor &hidden) {
        if (draft_.sentences && draft_.sentences->of_words())
            config_.fail("model_type", "modules.json makes vectors of scores of words, which an encoder of T5 has not");
        if (draft_.sentences)
            encode_.output("embedding", draft_.sentences->layers(encode_, draft_.weights, hidden, "lengths"));
        if (scales_) config_.ignore({"scale_decoder_outputs"});
        config_.ignore({"num_decoder_layers", "tie_word_embeddings", "is_encoder_decoder"});
        for (const auto &[name, weight] : draft_.weights.entries())
            if (name.starts_with("decoder.") || name.starts_with("lm_head.")) draft_.unused.insert(name);
    }

    Tensor encoder(int64_t layers) {
        Tensor x = embedding(encode_, "encoder");
        const Tensor lengths = encode_.input("lengths", DType::i32, "B"), bias = distance_bias(encode_, "encoder");
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "encoder.block." + std::to_string(i) + ".layer.";
            x = self_attention(encode_, layer + "0", x, {.key_lengths = lengths, .distance_bias = bias});
            x = feed_forward(encode_, layer + "1", x);
        }
        return encode_.rms_norm("encoder.final_layer_norm", x, {.eps = eps_});
    }

    Tensor decoder(int64_t layers, const Tensor &memory) {
        Tensor x = embedding(decode_, "decoder");
        const Tensor position = decode_.input("position", DType::i32, "B"),
                     lengths = decode_.input("lengths", DType::i32, "B"), bias = distance_bias(decode_, "decoder");
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "decoder.block." + std::to_string(i) + ".layer.";
            x = self_attention(decode_, layer + "0", x, {.causal = true, .position = position, .distance_bias = bias});
            x = source_attention(layer + "1", x, memory, lengths);
            x = feed_forward(decode_, layer + "2", x);
        }
        return x;
    }

    Tensor embedding(GraphWriter &graph, const std::string &stack) const {
        const std::string module = stack + ".embed_tokens";
        return graph.embedding(
            module, graph.input("ids", DType::i32, "B T"),
            {.rows = vocabulary_, .channels = width_, .table = draft_.tied(module + ".weight", table_)});
    }

    // All layers share the first layer's table.
    Tensor distance_bias(GraphWriter &graph, const std::string &stack) const {
        const std::string name = stack + ".block.0.layer.0.SelfAttention.relative_attention_bias";
        graph.require(name + ".weight", {config_.positive("relative_attention_num_buckets"), heads_});
        return graph.layer(name, "relative_position_bias", {},
                           {{"max_distance", max_distance_}, {"bidirectional", stack == "encoder"}},
                           {{"table", name + ".weight"}});
    }

    Tensor self_attention(GraphWriter &graph, const std::string &layer, const Tensor &x,
                          const GraphWriter::Attention &options) const {
        const std::string self = layer + ".SelfAttention";
        const Tensor tokens = graph.rms_norm(layer + ".layer_norm", x, {.eps = eps_});
        const Tensor q = graph.linear(self + ".q", tokens, {.outputs = inner_, .biased = false}),
                     k = graph.linear(self + ".k", tokens, {.outputs = inner_, .biased = false}),
                     v = graph.linear(self + ".v", tokens, {.outputs = inner_, .biased = false});
        return attended(graph, self, q, k, v, x, options);
    }

    Tensor source_attention(const std::string &layer, const Tensor &x, const Tensor &memory, const Tensor &lengths) {
        const std::string source = layer + ".EncDecAttention";
        const GraphWriter::Linear options{.outputs = inner_, .biased = false};
        const Tensor k = pass_on(encode_, decode_, encode_.linear(source + ".k", memory, options), "B S"),
                     v = pass_on(encode_, decode_, encode_.linear(source + ".v", memory, options), "B S");
        const Tensor tokens = decode_.rms_norm(layer + ".layer_norm", x, {.eps = eps_});
        const Tensor q = decode_.linear(source + ".q", tokens, options);
        return attended(decode_, source, q, k, v, x, {.key_lengths = lengths});
    }

    Tensor attended(GraphWriter &graph, const std::string &module, const Tensor &q, const Tensor &k, const Tensor &v,
                    const Tensor &residual, GraphWriter::Attention options) const {
        options.heads = options.kv_heads = heads_;
        options.scale = 1; // T5 folds the usual factor into the initial weights
        return graph.linear(module + ".o", graph.attention(module + ".heads", q, k, v, options),
                            {.residual = residual, .biased = false});
    }

    Tensor feed_forward(GraphWriter &graph, const std::string &layer, const Tensor &x) const {
        const bool gated = feed_forward_.gated;
        return graph.feed_forward(layer + ".DenseReluDense", graph.rms_norm(layer + ".layer_norm", x, {.eps = eps_}),
                                  {.hidden = config_.positive("d_ff"),
                                   .activation = feed_forward_.activation,
                                   .up = gated || draft_.gguf ? "wi_1" : "wi",
                                   .down = "wo",
                                   .gate = gated ? "wi_0" : "",
                                   .residual = x,
                                   .biased = false});
    }

    [[nodiscard]] bool is_scaled() const {
        if (!scales_) {
            config_.ignore_here("tie_word_embeddings"); // always true, whatever a file says
            return false;
        }
        const auto tied = config_.find("tie_word_embeddings");
        return config_.states("scale_decoder_outputs") ? config_.flag("scale_decoder_outputs")
                                                       : !tied || tied->boolean();
    }

    // A head that shares the embedding table, whose values are large, needs its input scaled. Scaling the norm's weight
    // does that. transformers always shares the table unless the file has another head; "tie_word_embeddings": false
    // only says that nothing is scaled.
    Tensor head(const Tensor &x) {
        std::string norm = "decoder.final_layer_norm";
        if (is_scaled()) norm = scaled_norm(draft_, decode_, norm, width_, 1 / std::sqrt(static_cast<double>(width_)));
        return decode_.linear(
            "lm_head", decode_.rms_norm(norm, x, {.eps = eps_}),
            {.outputs = vocabulary_, .biased = false, .weight = draft_.tied("lm_head.weight", table_)});
    }
};

constexpr std::array<TensorName, 28> tensors{{
    {"token_embd", "shared"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"enc.blk.{i}.attn_norm", "encoder.block.{i}.layer.0.layer_norm"},
    {"enc.blk.{i}.attn_q", "encoder.block.{i}.layer.0.SelfAttention.q"},
    {"enc.blk.{i}.attn_k", "encoder.block.{i}.layer.0.SelfAttention.k"},
    {"enc.blk.{i}.attn_v", "encoder.block.{i}.layer.0.SelfAttention.v"},
    {"enc.blk.{i}.attn_o", "encoder.block.{i}.layer.0.SelfAttention.o"},
    {"enc.blk.{i}.attn_rel_b", "encoder.block.{i}.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.blk.{i}.ffn_norm", "encoder.block.{i}.layer.1.layer_norm"},
    {"enc.blk.{i}.ffn_gate", "encoder.block.{i}.layer.1.DenseReluDense.wi_0"},
    {"enc.blk.{i}.ffn_up", "encoder.block.{i}.layer.1.DenseReluDense.wi_1"},
    {"enc.blk.{i}.ffn_down", "encoder.block.{i}.layer.1.DenseReluDense.wo"},
    {"dec.blk.{i}.attn_norm", "decoder.block.{i}.layer.0.layer_norm"},
    {"dec.blk.{i}.attn_q", "decoder.block.{i}.layer.0.SelfAttention.q"},
    {"dec.blk.{i}.attn_k", "decoder.block.{i}.layer.0.SelfAttention.k"},
    {"dec.blk.{i}.attn_v", "decoder.block.{i}.layer.0.SelfAttention.v"},
    {"dec.blk.{i}.attn_o", "decoder.block.{i}.layer.0.SelfAttention.o"},
    {"dec.blk.{i}.attn_rel_b", "decoder.block.{i}.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.blk.{i}.cross_attn_norm", "decoder.block.{i}.layer.1.layer_norm"},
    {"dec.blk.{i}.cross_attn_q", "decoder.block.{i}.layer.1.EncDecAttention.q"},
    {"dec.blk.{i}.cross_attn_k", "decoder.block.{i}.layer.1.EncDecAttention.k"},
    {"dec.blk.{i}.cross_attn_v", "decoder.block.{i}.layer.1.EncDecAttention.v"},
    {"dec.blk.{i}.cross_attn_o", "decoder.block.{i}.layer.1.EncDecAttention.o"},
    {"dec.blk.{i}.ffn_norm", "decoder.block.{i}.layer.2.layer_norm"},
    {"dec.blk.{i}.ffn_gate", "decoder.block.{i}.layer.2.DenseReluDense.wi_0"},
    {"dec.blk.{i}.ffn_up", "decoder.block.{i}.layer.2.DenseReluDense.wi_1"},
    {"dec.blk.{i}.ffn_down", "decoder.block.{i}.layer.2.DenseReluDense.wo"},
}};
constexpr std::array<SettingName, 5> settings{{
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"attention.relative_buckets_count", "relative_attention_num_buckets"},
    {"decoder_block_count", "num_decoder_layers"},
    {"decoder_start_token_id", "decoder_start_token_id"},
    {"feed_forward_length", "d_ff"},
}};

} // namespace

namespace families {

std::span<const Architecture> t5() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"mt5", [](Draft &draft) { T5(draft, false).build(); }},
        {"t5", [](Draft &draft) { T5(draft, true).build(); }, {"t5", tensors, settings}},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
