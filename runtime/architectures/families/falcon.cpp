// Falcon (Almazrouei et al., arXiv:2311.16867).
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "model/gguf_metadata.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

enum class Norms { two, shared, serial }; // of tokens for attention and for the feed-forward layer

Norms norms_of(const Config &config, bool newer) {
    const bool parallel = config.flag("parallel_attn");
    const int64_t count = config.integer("num_ln_in_parallel_attn", newer ? 2 : 1);
    if (newer && !parallel)
        config.fail("parallel_attn", "false is not supported with \"new_decoder_architecture\": true");
    if (count != 1 && !(newer && count == 2))
        config.fail("num_ln_in_parallel_attn", "expected 1, or 2 with \"new_decoder_architecture\": true");
    return !parallel ? Norms::serial : count == 2 ? Norms::two : Norms::shared;
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), heads = config.positive("num_attention_heads");
    config.ignore({"hidden_size"});
    const int64_t width = config.positive(config.find("n_embed") ? "n_embed" : "hidden_size"); // the older name wins
    if (width % heads != 0)
        config.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width));
    const int64_t head_dim = width / heads, vocabulary = config.positive("vocab_size"),
                  hidden = config.integer("ffn_hidden_size", 4 * width);
    if (draft.gguf)
        config.expect("head_dim", static_cast<double>(head_dim));
    else if (config.states("head_dim"))
        config.fail("head_dim", "transformers reads no file of this model_type with it");
    const std::string activation = config.activation("activation");
    const double eps = config.real("layer_norm_epsilon");
    const bool newer = config.flag("new_decoder_architecture"), biased = config.flag("bias");
    const bool one_key_head = config.flag("multi_query") && !newer;
    const int64_t given_heads = config.integer("num_kv_heads", heads), kv_heads = one_key_head ? 1 : given_heads;
    if (kv_heads < 1 || heads % kv_heads != 0 || (!newer && !one_key_head && kv_heads != heads))
        config.fail("num_kv_heads", "expected a divisor of num_attention_heads, " + std::to_string(heads));
    const Norms norms = norms_of(config, newer);
    const char *const mlp_norm =
        draft.gguf ? ".input_layernorm" : ".ln_mlp"; // files for llama.cpp do not tell them apart
    config.expect("alibi", false);

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "transformer.rotary.frequencies", rotary(draft, head_dim), false);
    const auto norm = [&](const std::string &module, const Tensor &x) {
        return graph.layer_norm(module, x, {.eps = eps});
    };
    Tensor x = graph.embedding("transformer.word_embeddings", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "transformer.h." + std::to_string(i), self = layer + ".self_attention";
        split_heads(draft, graph, self + ".query_key_value",
                    {.inputs = width,
                     .parts = {{self + ".q_proj", width},
                               {self + ".k_proj", kv_heads * head_dim},
                               {self + ".v_proj", kv_heads * head_dim}},
                     .biased = biased},
                    kv_heads);
        const Tensor tokens = norm(layer + (norms == Norms::two ? ".ln_attn" : ".input_layernorm"), x);
        const Tensor attended = decoder.self_attention(self, tokens,
                                                       {.heads = {heads, kv_heads, head_dim},
                                                        .biased = biased,
                                                        .out_biased = biased,
                                                        .out = "dense",
                                                        .rotary = &rotary_layer,
                                                        .residual = x});
        const Tensor fed = norms == Norms::shared ? tokens
                           : norms == Norms::two  ? norm(layer + mlp_norm, x)
                                                  : norm(layer + ".post_attention_layernorm", attended);
        x = graph.feed_forward(layer + ".mlp", fed,
                               {.hidden = hidden,
                                .activation = activation,
                                .up = "dense_h_to_4h",
                                .down = "dense_4h_to_h",
                                .residual = attended,
                                .biased = biased});
    }
    decoder.add_outputs(
        norm("transformer.ln_f", x),
        {.vocabulary = vocabulary, .table = "transformer.word_embeddings.weight", .tokens = "classifier"});
}

constexpr std::array<TensorName, 8> tensors{{
    {"token_embd", "transformer.word_embeddings"},
    {"output_norm", "transformer.ln_f"},
    {"blk.{i}.attn_norm", "transformer.h.{i}.input_layernorm"},
    {"blk.{i}.attn_norm_2", "transformer.h.{i}.ln_attn"},
    {"blk.{i}.attn_qkv", "transformer.h.{i}.self_attention.query_key_value"},
    {"blk.{i}.attn_output", "transformer.h.{i}.self_attention.dense"},
    {"blk.{i}.ffn_up", "transformer.h.{i}.mlp.dense_h_to_4h"},
    {"blk.{i}.ffn_down", "transformer.h.{i}.mlp.dense_4h_to_h"},
}};
constexpr std::array<SettingName, 3> settings{{
    {"attention.head_count_kv", "num_kv_heads"},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"feed_forward_length", "ffn_hidden_size"},
}};

// llama.cpp computes all of them as the newer architecture, of which the older one is a case, and always attention
// beside the feed-forward layer.
void complete(const GgufFacts &file, Json &config) {
    const model::GgufValue *layout = file.find("tensor_data_layout");
    if (layout != nullptr && layout->string() != "jploski")
        layout->fail("expected 'jploski', the order of queries, keys and values that llama.cpp takes");
    const bool two_norms = file.weights.entries().contains("blk.0.attn_norm_2.weight");
    const model::GgufValue *kv_heads = file.find("attention.head_count_kv");
    if (kv_heads == nullptr)
        throw Error(ErrorCode::input, file.weights.file().string() +
                                          ": the metadata lack the key 'falcon.attention.head_count_kv', which all "
                                          "published files have: take one that a newer converter wrote");
    const bool one_key_head = kv_heads->integer() == 1;
    if (!two_norms && !one_key_head && file.find("rope.freq_base") == nullptr)
        throw Error(ErrorCode::input, file.weights.file().string() +
                                          ": the metadata lack the key 'falcon.rope.freq_base', without which nobody "
                                          "knows the positions of Falcon 2: take its Hugging Face folder");
    config["new_decoder_architecture"] = true;
    config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
}

} // namespace

namespace families {

std::span<const Architecture> falcon() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"falcon",
          build,
          {.architecture = "falcon", .tensors = tensors, .settings = settings, .complete = complete},
          "transformer"}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
