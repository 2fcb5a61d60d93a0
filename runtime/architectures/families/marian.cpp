// Marian's translation models (Junczys-Dowmunt et al., arXiv:1804.00344), such as OPUS-MT: the original Transformer
// (Vaswani et al., arXiv:1706.03762).
#include "architectures/architecture.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

class Marian {
  public:
    explicit Marian(Draft &draft)
        : draft_(draft), config_(draft.config), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
          activation_(config_.activation("activation_function")), width_(config_.positive("d_model")),
          positions_(config_.positive("max_position_embeddings")), vocabulary_(config_.positive("vocab_size")),
          target_vocabulary_(vocabulary_),
          scale_(config_.flag("scale_embedding") ? std::sqrt(static_cast<double>(width_)) : 1) {}

    void build() {
        choose_tables();
        const Tensor memory = encoder();
        encode_.output("hidden", memory);
        decode_.output("logits", head(decoder(memory)));
    }

  private:
    static constexpr double eps = 1e-5;

    Draft &draft_;
    const Config &config_;
    GraphWriter &encode_, &decode_;
    std::string activation_;
    int64_t width_, positions_;
    int64_t vocabulary_, target_vocabulary_;
    double scale_;                                   // of the embeddings
    std::string source_table_, target_table_, head_; // names of weights

    // All tables are one, or the decoder's and the head are, or neither.
    void choose_tables() {
        const bool all = config_.flag("share_encoder_decoder_embeddings"), tied = config_.flag("tie_word_embeddings");
        const char *const source = "model.encoder.embed_tokens.weight",
                          *const target = "model.decoder.embed_tokens.weight", *const head = "lm_head.weight";
        const int64_t target_vocabulary = config_.integer("decoder_vocab_size", vocabulary_);
        if (!all) target_vocabulary_ = target_vocabulary;
        const std::string table =
            all ? draft_.first_of({"model.shared.weight", head, target, source}) : draft_.first_of({target, head});
        source_table_ = all ? draft_.tied(source, table) : source;
        target_table_ = all || tied ? draft_.tied(target, table) : target;
        head_ = tied ? draft_.tied(head, table) : head;
    }

    Tensor encoder() {
        const int64_t heads = config_.positive("encoder_attention_heads"), layers = config_.layers("encoder_layers"),
                      hidden = config_.positive("encoder_ffn_dim");
        const Tensor lengths = encode_.input("lengths", DType::i32, "B");
        Tensor x = embedding(encode_, "model.encoder", source_table_, vocabulary_, "");
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "model.encoder.layers." + std::to_string(i);
            x = self_attention(encode_, layer + ".self_attn", x,
                               {.heads = heads, .kv_heads = heads, .key_lengths = lengths});
            x = feed_forward(encode_, layer, x, hidden);
        }
        return x;
    }

    Tensor decoder(const Tensor &memory) {
        const int64_t heads = config_.positive("decoder_attention_heads"), layers = config_.layers("decoder_layers"),
                      hidden = config_.positive("decoder_ffn_dim");
        const Tensor position = decode_.input("position", DType::i32, "B"),
                     lengths = decode_.input("lengths", DType::i32, "B");
        Tensor x = embedding(decode_, "model.decoder", target_table_, target_vocabulary_, position);
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "model.decoder.layers." + std::to_string(i);
            x = self_attention(decode_, layer + ".self_attn", x,
                               {.heads = heads, .kv_heads = heads, .causal = true, .position = position});
            x = source_attention(layer + ".encoder_attn", x, memory,
                                 {.heads = heads, .kv_heads = heads, .key_lengths = lengths});
            x = feed_forward(decode_, layer, x, hidden);
        }
        return x;
    }

    // Files of older versions store the sinusoids.
    Tensor embedding(GraphWriter &graph, const std::string &stack, const std::string &table, int64_t rows,
                     const Tensor &position) const {
        const Tensor words = graph.embedding(stack + ".embed_tokens", graph.input("ids", DType::i32, "B T"),
                                             {.rows = rows, .channels = width_, .scale = scale_, .table = table});
        const std::string positions = stack + ".embed_positions";
        if (draft_.weights.entries().contains(positions + ".weight"))
            return graph.learned_positions(positions, words, position, positions_);
        return graph.layer(positions, "positional_encoding", {{"x", words}, {"offset", position}},
                           {{"layout", "halves"}, {"max_len", positions_}});
    }

    static Tensor self_attention(GraphWriter &graph, const std::string &module, const Tensor &x,
                                 const GraphWriter::Attention &options) {
        return attention(graph, module, x, graph.linear(module + ".k_proj", x, {}),
                         graph.linear(module + ".v_proj", x, {}), options);
    }

    Tensor source_attention(const std::string &module, const Tensor &x, const Tensor &memory,
                            const GraphWriter::Attention &options) {
        const Tensor k = pass_on(encode_, decode_, encode_.linear(module + ".k_proj", memory, {}), "B S"),
                     v = pass_on(encode_, decode_, encode_.linear(module + ".v_proj", memory, {}), "B S");
        return attention(decode_, module, x, k, v, options);
    }

    static Tensor attention(GraphWriter &graph, const std::string &module, const Tensor &x, const Tensor &k,
                            const Tensor &v, const GraphWriter::Attention &options) {
        const Tensor q = graph.linear(module + ".q_proj", x, {});
        const Tensor attended = graph.attention(module + ".heads", q, k, v, options);
        return graph.layer_norm(module + "_layer_norm", graph.linear(module + ".out_proj", attended, {.residual = x}),
                                {.eps = eps});
    }

    Tensor feed_forward(GraphWriter &graph, const std::string &layer, const Tensor &x, int64_t hidden) const {
        const Tensor out = graph.feed_forward(
            layer, x, {.hidden = hidden, .activation = activation_, .up = "fc1", .down = "fc2", .residual = x});
        return graph.layer_norm(layer + ".final_layer_norm", out, {.eps = eps});
    }

    Tensor head(const Tensor &x) {
        // A file need not have it: it is zeros then (transformers, modeling_marian.py).
        const bool biased = draft_.weights.entries().contains("final_logits_bias");
        if (biased) {
            decode_.require("final_logits_bias", {1, target_vocabulary_});
            draft_.weights.add("lm_head.bias", as_vector(draft_.weights.at("final_logits_bias")));
            draft_.unused.insert("final_logits_bias");
        }
        return decode_.linear("lm_head", x, {.outputs = target_vocabulary_, .biased = biased, .weight = head_});
    }
};

} // namespace

namespace families {

std::span<const Architecture> marian() {
    static constexpr std::array<Architecture, 1> kinds{{{"marian", [](Draft &draft) { Marian(draft).build(); }}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
