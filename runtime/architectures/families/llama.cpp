// Llama (Touvron et al., arXiv:2302.13971; Grattafiori et al., arXiv:2407.21783) and models that differ from it only in
// a few settings: SmolLM2, Mistral, Qwen2, Qwen3.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/rotary.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

// What config.json leaves out because all models of a type share it.
struct Kind {
    bool biased_heads = false;        // queries, keys and values have biases; the output projection has none
    bool normed_heads = false;        // queries and keys are normalized per head
    bool interleaved_in_gguf = false; // GGUF permutes the rows of queries and keys for interleaved rotary pairs
};

// The attention window of each layer; 0: unlimited.
std::vector<int64_t> windows(const Config &config, size_t layers) {
    std::vector<int64_t> out(layers, 0);
    if (!config.reads("sliding_window")) return out;
    const int64_t window = config.find("sliding_window") ? config.positive("sliding_window") : 0;
    // mistral has the same window everywhere; with layer_types, transformers takes it for ministral, which has not.
    const std::vector<std::string> types = config.layer_types(static_cast<int64_t>(layers));
    const bool mistral = !config.reads("use_sliding_window");
    if (mistral && types.empty()) return std::vector<int64_t>(layers, window);
    const bool slides = mistral || config.flag("use_sliding_window");
    const auto full =
        mistral ? 0 : static_cast<size_t>(config.integer("max_window_layers")); // so many at the start have none
    for (size_t i = 0; i < layers; ++i) {
        if (types.empty() ? !slides || i < full : types[i] != "sliding_attention") continue;
        if (!types.empty() && (!slides || window == 0))
            config.fail("layer_types",
                        "has sliding_attention, which needs \"use_sliding_window\": true and a number as "
                        "\"sliding_window\"");
        out[i] = window;
    }
    return out;
}

void build(Draft &draft, const Kind &kind) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.integer("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"),
                  kv_heads = config.integer("num_key_value_heads", heads);
    const int64_t head_dim = config.integer("head_dim", width / heads);
    if (head_dim == 0) config.fail("num_attention_heads", "expected at most the hidden_size, " + std::to_string(width));
    const double eps = config.real("rms_norm_eps");
    const std::string activation = config.activation("hidden_act");
    const auto adds_bias = [&](const char *key) { return config.reads(key) && config.flag(key); };
    const bool mlp_biased = adds_bias("mlp_bias"), attention_bias = adds_bias("attention_bias");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const bool biased = kind.biased_heads || attention_bias;
    const std::vector<int64_t> window = windows(config, static_cast<size_t>(layers));

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const std::string &ids = decoder.ids(), &position = decoder.position();
    const RotaryLayer turned(draft, "model.rotary.frequencies", rotary(draft, head_dim),
                             draft.gguf && kind.interleaved_in_gguf);
    std::string x = graph.embedding("model.embed_tokens", ids, {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        std::string tokens = graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps});
        std::string q = graph.linear(self + ".q_proj", tokens, {.outputs = heads * head_dim, .biased = biased});
        std::string k = graph.linear(self + ".k_proj", tokens, {.outputs = kv_heads * head_dim, .biased = biased});
        const std::string v =
            graph.linear(self + ".v_proj", tokens, {.outputs = kv_heads * head_dim, .biased = biased});
        if (kind.normed_heads) {
            q = graph.rms_norm(self + ".q_norm", q, {.eps = eps, .groups = heads});
            k = graph.rms_norm(self + ".k_norm", k, {.eps = eps, .groups = kv_heads});
        }
        q = turned(graph, self + ".q_rotary", q, heads, position);
        k = turned(graph, self + ".k_rotary", k, kv_heads, position);
        x = graph.linear(self + ".o_proj",
                         graph.attention(self + ".heads", q, k, v,
                                         {.heads = heads,
                                          .kv_heads = kv_heads,
                                          .causal = true,
                                          .window = window[static_cast<size_t>(i)],
                                          .position = position,
                                          .key_lengths = decoder.lengths()}),
                         {.residual = x, .biased = attention_bias});
        tokens = graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps});
        x = graph.feed_forward(layer + ".mlp", tokens,
                               {.hidden = hidden,
                                .activation = activation,
                                .up = "up_proj",
                                .down = "down_proj",
                                .gate = "gate_proj",
                                .residual = x,
                                .biased = mlp_biased});
    }
    x = graph.rms_norm("model.norm", x, {.eps = eps});
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = "model.embed_tokens.weight"});
}

constexpr std::array<TensorName, 14> gguf{{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.{i}.attn_norm", "model.layers.{i}.input_layernorm"},
    {"blk.{i}.attn_q", "model.layers.{i}.self_attn.q_proj"},
    {"blk.{i}.attn_k", "model.layers.{i}.self_attn.k_proj"},
    {"blk.{i}.attn_v", "model.layers.{i}.self_attn.v_proj"},
    {"blk.{i}.attn_q_norm", "model.layers.{i}.self_attn.q_norm"},
    {"blk.{i}.attn_k_norm", "model.layers.{i}.self_attn.k_norm"},
    {"blk.{i}.attn_output", "model.layers.{i}.self_attn.o_proj"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_gate", "model.layers.{i}.mlp.gate_proj"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.up_proj"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mlp.down_proj"},
}};

} // namespace

namespace families {

std::span<const Architecture> llama() {
    static constexpr std::array<Architecture, 4> kinds{{
        {"llama", [](Draft &draft) { build(draft, {.interleaved_in_gguf = true}); }, gguf, "model"},
        {"mistral", [](Draft &draft) { build(draft, {}); }, gguf, "model"},
        {"qwen2", [](Draft &draft) { build(draft, {.biased_heads = true}); }, gguf, "model"},
        {"qwen3", [](Draft &draft) { build(draft, {.normed_heads = true}); }, gguf, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
