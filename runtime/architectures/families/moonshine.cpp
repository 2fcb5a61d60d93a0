// Moonshine (Jeffries et al., arXiv:2410.15608): an encoder of raw samples, as many as there are, and a decoder.
#include "architectures/architecture.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/rotary.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

class Moonshine {
  public:
    explicit Moonshine(Draft &draft)
        : draft_(draft), config_(draft.config), encode_(draft.graph("encode")), decode_(draft.graph("decode")),
          width_(config_.positive("hidden_size")), hidden_(config_.positive("intermediate_size")),
          encoder_layers_(config_.layers("encoder_num_hidden_layers")), heads_(heads()), channels_(head_channels()),
          rotary_(draft, "model.rotary.frequencies", rotary(draft, channels_, {.part = usual_part}), true) {}

    void build() {
        config_.ignore({"pad_head_dim_to_multiple_of"}); // by zeros, which change no score
        if (constexpr const char *key = "is_causal"; config_.states(key))
            config_.fail(key, "expected no such key: transformers runs no model of this type that has it");
        const Tensor memory = encoder();
        encode_.output("hidden", memory);
        decode_.output("logits", decoder(memory));
        draft_.speech = speech_;
    }

  private:
    static constexpr double usual_part = 0.9; // of a head's channels that is turned
    // What is said in it fits the 194 positions of published models, at the 6.5 tokens a second of their model cards.
    static constexpr int64_t window_seconds = 30;

    Draft &draft_;
    const Config &config_;
    GraphWriter &encode_, &decode_;
    int64_t width_, hidden_, encoder_layers_, heads_, channels_;
    RotaryLayer rotary_;
    SpeechInput speech_{.window_seconds = window_seconds};
    Tensor lengths_, position_; // frames of each sequence that count; of the decoder's first token

    // In transformers, each layer that is made puts its numbers of heads into the settings: those of the encoder, whose
    // layers are the first, are then the decoder's.
    [[nodiscard]] int64_t heads() const {
        const bool encodes = encoder_layers_ != 0;
        const char *const key = encodes ? "encoder_num_attention_heads" : "decoder_num_attention_heads",
                          *const kv_key = encodes ? "encoder_num_key_value_heads" : "decoder_num_key_value_heads";
        const int64_t heads = config_.positive(key);
        if (config_.optional_integer(kv_key).value_or(heads) != heads)
            config_.fail(kv_key, "expected " + std::to_string(heads) + ", as many as \"" + key +
                                     "\" has: transformers cannot run others, either");
        for (const char *other : {encodes ? "decoder_num_attention_heads" : "encoder_num_attention_heads",
                                  encodes ? "decoder_num_key_value_heads" : "encoder_num_key_value_heads"})
            config_.ignore_here(other);
        return heads;
    }

    [[nodiscard]] int64_t head_channels() const {
        constexpr const char *key = "head_dim";
        if (config_.is_null(key)) config_.fail(key, "expected a number, found null; leave the key out instead");
        if (config_.has(key)) return config_.positive(key);
        if (heads_ > width_)
            config_.fail("encoder_num_attention_heads", "expected at most the hidden_size, " + std::to_string(width_));
        return width_ / heads_;
    }

    Tensor encoder() {
        const std::string stack = "model.encoder";
        const std::string activation = config_.activation("encoder_hidden_act");
        Tensor x = encode_.input("samples", DType::f32, "B N 1", 1);
        lengths_ = encode_.input("lengths", DType::i32, "B");
        x = convolution(stack + ".conv1", x, width_, 127, 64, "tanh", false);
        speech_.norm_lengths = speech_.lengths;
        x = normed_over_time(stack + ".groupnorm", x);
        x = convolution(stack + ".conv2", x, 2 * width_, 7, 3, "gelu", true);
        x = convolution(stack + ".conv3", x, width_, 3, 2, "gelu", true);
        for (int64_t i = 0; i < encoder_layers_; ++i) {
            const std::string layer = stack + ".layers." + std::to_string(i);
            x = self_attention(encode_, layer, x, {.key_lengths = lengths_});
            x = encode_.feed_forward(
                layer + ".mlp", norm(encode_, layer + ".post_attention_layernorm", x),
                {.hidden = hidden_, .activation = activation, .up = "fc1", .down = "fc2", .residual = x});
        }
        return norm(encode_, stack + ".layer_norm", x);
    }

    // Each must fit its input exactly; what is behind a sequence's own frames does not count.
    Tensor convolution(const std::string &module, const Tensor &x, int64_t channels, int64_t width, int64_t stride,
                       const char *activation, bool biased) {
        encode_.require(module + ".weight", {channels, encode_.channels(x), width});
        encode_.require(module + ".bias", {channels}, biased);
        const Tensor out =
            encode_.layer(module, "conv1d", {{"x", x}}, {{"stride", stride}, {"activation", activation}});
        encode_.set_channels(out, channels);
        speech_.lengths.width += (width - 1) * speech_.lengths.step;
        speech_.lengths.step *= stride;
        return out;
    }

    // All channels are one group.
    Tensor normed_over_time(const std::string &module, const Tensor &x) {
        for (const char *port : {".weight", ".bias"}) encode_.require(module + port, {width_});
        return encode_.layer(module, "instance_norm",
                             {{"x", x}, {"lengths", encode_.input("norm_lengths", DType::i32, "B")}},
                             {{"group_size", width_}});
    }

    Tensor decoder(const Tensor &memory) {
        const int64_t vocabulary = config_.positive("vocab_size"), layers = config_.layers("decoder_num_hidden_layers");
        const std::string stack = "model.decoder", table = stack + ".embed_tokens.weight";
        const std::string activation = config_.activation("decoder_hidden_act");
        const Tensor ids = decode_.input("ids", DType::i32, "B T");
        position_ = decode_.input("position", DType::i32, "B");
        if (layers != 0) decode_.input(lengths_, DType::i32, "B");
        Tensor x = decode_.embedding(stack + ".embed_tokens", ids, {.rows = vocabulary, .channels = width_});
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = stack + ".layers." + std::to_string(i);
            x = self_attention(decode_, layer, x, {.causal = true, .position = position_});
            x = source_attention(layer, x, memory);
            x = gated(layer + ".mlp", norm(decode_, layer + ".final_layernorm", x), activation, x);
        }
        const std::string head =
            config_.flag("tie_word_embeddings") ? draft_.tied("proj_out.weight", table) : "proj_out.weight";
        return decode_.linear("proj_out", norm(decode_, stack + ".norm", x),
                              {.outputs = vocabulary, .biased = false, .weight = head});
    }

    Tensor self_attention(GraphWriter &graph, const std::string &layer, const Tensor &x,
                          const GraphWriter::Attention &options) const {
        const std::string module = layer + ".self_attn";
        const Tensor tokens = norm(graph, layer + ".input_layernorm", x),
                     q = rotary_(graph, module + ".q_rotary", product(graph, module + ".q_proj", tokens), heads_,
                                 options.position),
                     k = rotary_(graph, module + ".k_rotary", product(graph, module + ".k_proj", tokens), heads_,
                                 options.position);
        return attended(graph, module, q, k, product(graph, module + ".v_proj", tokens), x, options);
    }

    // Without rotary positions.
    Tensor source_attention(const std::string &layer, const Tensor &x, const Tensor &memory) {
        const std::string module = layer + ".encoder_attn";
        const auto of_source = [&](const char *part) {
            return pass_on(encode_, decode_, product(encode_, module + part, memory), "B S");
        };
        const Tensor k = of_source(".k_proj"), v = of_source(".v_proj");
        const Tensor tokens = norm(decode_, layer + ".post_attention_layernorm", x);
        return attended(decode_, module, product(decode_, module + ".q_proj", tokens), k, v, x,
                        {.key_lengths = lengths_});
    }

    [[nodiscard]] Tensor product(GraphWriter &graph, const std::string &module, const Tensor &x) const {
        return graph.linear(module, x, {.outputs = heads_ * channels_, .biased = config_.flag("attention_bias")});
    }

    [[nodiscard]] Tensor attended(GraphWriter &graph, const std::string &module, const Tensor &q, const Tensor &k,
                                  const Tensor &v, const Tensor &residual, GraphWriter::Attention options) const {
        options.heads = options.kv_heads = heads_;
        return graph.linear(module + ".o_proj", graph.attention(module + ".heads", q, k, v, options),
                            {.residual = residual, .biased = false});
    }

    [[nodiscard]] Tensor gated(const std::string &module, const Tensor &x, const std::string &activation,
                               const Tensor &residual) const {
        split(draft_, decode_, module + ".fc1",
              {.inputs = width_,
               .parts = {{module + ".up_proj", hidden_}, {module + ".gate_proj", hidden_}},
               .biased = true});
        return decode_.feed_forward(module, x,
                                    {.hidden = hidden_,
                                     .activation = activation,
                                     .up = "up_proj",
                                     .down = "fc2",
                                     .gate = "gate_proj",
                                     .residual = residual});
    }

    static Tensor norm(GraphWriter &graph, const std::string &module, const Tensor &x) {
        return graph.layer_norm(module, x, {.biased = false});
    }
};

} // namespace

namespace families {

std::span<const Architecture> moonshine() {
    static constexpr std::array<Architecture, 1> kinds{{{"moonshine", [](Draft &draft) { Moonshine(draft).build(); }}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
