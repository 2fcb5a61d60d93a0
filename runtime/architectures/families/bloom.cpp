// BLOOM (arXiv:2211.05100) and MPT (MosaicML, 2023), whose scores fall with the distance (ALiBi: Press et al.,
// arXiv:2108.12409).
#include "architectures/alibi.hpp"
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

int64_t channels_of_heads(const Config &config, const char *heads, int64_t width) {
    const int64_t count = config.positive(heads);
    if (width % count != 0) config.fail(heads, "expected a divisor of the width, " + std::to_string(width));
    return width / count;
}

void build_bloom(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("n_layer");
    config.ignore({"hidden_size"});
    const int64_t width = config.positive(config.find("n_embed") ? "n_embed" : "hidden_size"); // the older name wins
    const int64_t head_dim = channels_of_heads(config, "n_head", width), heads = width / head_dim;
    const int64_t vocabulary = config.positive("vocab_size");
    const double eps = config.real("layer_norm_epsilon");
    const bool adds_normed = config.flag("apply_residual_connection_post_layernorm");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    Tensor x = graph.embedding("transformer.word_embeddings", decoder.ids(), {.rows = vocabulary, .channels = width});
    draft.weights.add("transformer.slopes", alibi_slopes(heads)); // as many as the file has channels, at most
    x = graph.layer_norm("transformer.word_embeddings_layernorm", x, {.eps = eps});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "transformer.h." + std::to_string(i), self = layer + ".self_attention";
        split_heads(draft, graph, self + ".query_key_value",
                    {.inputs = width,
                     .parts = {{self + ".q_proj", width}, {self + ".k_proj", width}, {self + ".v_proj", width}},
                     .biased = true},
                    heads);
        Tensor tokens = graph.layer_norm(layer + ".input_layernorm", x, {.eps = eps});
        x = decoder.self_attention(self, tokens,
                                   {.heads = {heads, heads, head_dim},
                                    .biased = true,
                                    .out_biased = true,
                                    .out = "dense",
                                    .slopes = "transformer.slopes",
                                    .residual = adds_normed ? tokens : x});
        tokens = graph.layer_norm(layer + ".post_attention_layernorm", x, {.eps = eps});
        x = graph.feed_forward(layer + ".mlp", tokens,
                               {.hidden = 4 * width,
                                .activation = "gelu_tanh",
                                .up = "dense_h_to_4h",
                                .down = "dense_4h_to_h",
                                .residual = adds_normed ? tokens : x});
    }
    decoder.add_outputs(
        graph.layer_norm("transformer.ln_f", x, {.eps = eps}),
        {.vocabulary = vocabulary, .table = "transformer.word_embeddings.weight", .tokens = "classifier"});
}

struct MptAttention {
    double scale = 0;    // of products of queries and keys; 0: the usual one
    double clip = 0;     // of queries, keys and values; 0: none
    double exponent = 8; // of slopes, as alibi_slopes() has it
};

// "attn_config". What transformers ignores there must be as usual.
MptAttention mpt_attention(const Config &config) {
    const auto object = config.object("attn_config");
    if (!object) return {};
    object->expect("alibi", true);
    object->expect("alibi_bias_max", 8.0);
    object->expect("attn_type", "multihead_attention");
    for (const char *key : {"prefix_lm", "qk_ln", "attn_uses_sequence_id"}) object->expect(key, false);
    if (object->is_null("attn_type")) object->fail("attn_type", "expected a text, found null");
    for (const char *key : {"clip_qkv", "softmax_scale"})
        if (const auto number = object->find(key); number && number->is_integer())
            number->fail("expected a number with a decimal point");
    const bool clips = object->real("clip_qkv", 0) != 0;
    return {.scale = object->real("softmax_scale", 0), .clip = clips ? clip_of(*object, "clip_qkv") : 0};
}

// Files for llama.cpp say the slopes.
MptAttention mpt_attention_of_gguf(const Config &config) {
    const char *const slopes = "alibi_bias_max", *const clip = "clip_qkv";
    const bool clips = config.real(clip, 0) != 0;
    const double exponent = config.real(slopes);
    if (!(exponent > 0 && exponent <= 1000)) config.fail(slopes, "expected a number above 0, and at most 1000");
    return {.clip = clips ? clip_of(config, clip) : 0, .exponent = exponent};
}

void build_mpt(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("n_layers"), width = config.positive("d_model");
    const int64_t head_dim = channels_of_heads(config, "n_heads", width), heads = width / head_dim;
    const int64_t vocabulary = config.positive("vocab_size");
    const double eps = config.real("layer_norm_epsilon");
    const MptAttention attention = draft.gguf ? mpt_attention_of_gguf(config) : mpt_attention(config);
    (void)config.positive("max_seq_len"); // limits texts

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const auto norm = [&](const std::string &module, const Tensor &x) {
        return graph.layer_norm(module, x, {.eps = eps, .biased = false});
    };
    Tensor x = graph.embedding("transformer.wte", decoder.ids(), {.rows = vocabulary, .channels = width});
    draft.weights.add("transformer.slopes", alibi_slopes(heads, attention.exponent));
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "transformer.blocks." + std::to_string(i), self = layer + ".attn";
        split(draft, graph, self + ".Wqkv",
              {.inputs = width,
               .parts = {{self + ".q_proj", width}, {self + ".k_proj", width}, {self + ".v_proj", width}}});
        x = decoder.self_attention(self, norm(layer + ".norm_1", x),
                                   {.heads = {heads, heads, head_dim},
                                    .out = "out_proj",
                                    .scale = attention.scale,
                                    .clip = attention.clip,
                                    .slopes = "transformer.slopes",
                                    .residual = x});
        x = graph.feed_forward(layer + ".ffn", norm(layer + ".norm_2", x),
                               {.hidden = 4 * width, .activation = "gelu", .residual = x, .biased = false});
    }
    decoder.add_outputs(norm("transformer.norm_f", x),
                        {.vocabulary = vocabulary, .table = "transformer.wte.weight", .tokens = "classifier"});
}

constexpr std::array<TensorName, 9> tensors{{
    {"token_embd", "transformer.word_embeddings"},
    {"token_embd_norm", "transformer.word_embeddings_layernorm"},
    {"output_norm", "transformer.ln_f"},
    {"blk.{i}.attn_norm", "transformer.h.{i}.input_layernorm"},
    {"blk.{i}.attn_qkv", "transformer.h.{i}.self_attention.query_key_value"},
    {"blk.{i}.attn_output", "transformer.h.{i}.self_attention.dense"},
    {"blk.{i}.ffn_norm", "transformer.h.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_up", "transformer.h.{i}.mlp.dense_h_to_4h"},
    {"blk.{i}.ffn_down", "transformer.h.{i}.mlp.dense_4h_to_h"},
}};
constexpr std::array<SettingName, 1> settings{{{"attention.layer_norm_epsilon", "layer_norm_epsilon"}}};

constexpr std::array<TensorName, 8> mpt_tensors{{
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.norm_f"},
    {"blk.{i}.attn_norm", "transformer.blocks.{i}.norm_1"},
    {"blk.{i}.attn_qkv", "transformer.blocks.{i}.attn.Wqkv"},
    {"blk.{i}.attn_output", "transformer.blocks.{i}.attn.out_proj"},
    {"blk.{i}.ffn_norm", "transformer.blocks.{i}.norm_2"},
    {"blk.{i}.ffn_up", "transformer.blocks.{i}.ffn.up_proj"},
    {"blk.{i}.ffn_down", "transformer.blocks.{i}.ffn.down_proj"},
}};
constexpr std::array<SettingName, 7> mpt_settings{{
    {"attention.clamp_kqv", "clip_qkv"},
    {"attention.head_count", "n_heads"},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"attention.max_alibi_bias", "alibi_bias_max"},
    {"block_count", "n_layers"},
    {"context_length", "max_seq_len"},
    {"embedding_length", "d_model"},
}};

} // namespace

namespace families {

std::span<const Architecture> bloom() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"bloom", build_bloom, {"bloom", tensors, settings}, "transformer"},
        {"mpt", build_mpt, {"mpt", mpt_tensors, mpt_settings}, "transformer"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
