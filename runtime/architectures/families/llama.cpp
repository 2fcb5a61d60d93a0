// Llama (Touvron et al., arXiv:2302.13971; Grattafiori et al., arXiv:2407.21783) and models that differ from it only in
// a few settings: SmolLM2, Mistral, Qwen2, Qwen3.
#include "architectures/architecture.hpp"
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
    int64_t head_dim = 0;             // default; 0: hidden_size / num_attention_heads
    int64_t window = 0;               // default of sliding_window
    bool slides = true;               // default of use_sliding_window
};

// The attention window of each layer; 0: unlimited.
std::vector<int64_t> windows(const Config &config, const Kind &kind, int64_t layers) {
    const int64_t window = config.integer("sliding_window", config.is_null("sliding_window") ? 0 : kind.window);
    const bool slides = config.flag("use_sliding_window", kind.slides);
    const int64_t full =
        config.integer("max_window_layers", kind.slides ? 0 : 28); // so many layers at the start have full attention
    const std::vector<std::string> types = config.layer_types(layers);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < layers; ++i) {
        const bool sliding = types.empty() ? i >= full : types[static_cast<size_t>(i)] == "sliding_attention";
        out.push_back(slides && sliding ? window : 0);
    }
    return out;
}

void build(Draft &draft, const Kind &kind) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.integer("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"),
                  kv_heads = config.integer("num_key_value_heads", heads);
    const int64_t head_dim = config.integer("head_dim", kind.head_dim != 0 ? kind.head_dim : width / heads);
    if (head_dim == 0) config.fail("num_attention_heads", "expected at most the hidden_size, " + std::to_string(width));
    const double eps = config.real("rms_norm_eps", 1e-6);
    const std::string activation = config.activation("hidden_act", "silu");
    const bool tied = config.flag("tie_word_embeddings", false), mlp_biased = config.flag("mlp_bias", false);
    const bool attention_bias = config.flag("attention_bias", false), biased = kind.biased_heads || attention_bias;
    const std::vector<int64_t> window = windows(config, kind, layers);
    config.ignore({"intermediate_size", "pretraining_tp"});

    GraphWriter &graph = draft.graph("decode");
    const std::string ids = graph.input("ids", DType::i32, "B T"), position = graph.input("position", DType::i32, "B");
    const RotaryLayer turned(draft, "model.rotary.frequencies", rotary(config, head_dim),
                             draft.gguf && kind.interleaved_in_gguf);
    std::string x = graph.embedding("model.embed_tokens", ids, {});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        std::string tokens = graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps});
        std::string q = graph.linear(self + ".q_proj", tokens, {.biased = biased});
        std::string k = graph.linear(self + ".k_proj", tokens, {.biased = biased});
        const std::string v = graph.linear(self + ".v_proj", tokens, {.biased = biased});
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
                                          .position = position}),
                         {.residual = x, .biased = attention_bias});
        tokens = graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps});
        x = graph.feed_forward(layer + ".mlp", tokens,
                               {.activation = activation,
                                .up = "up_proj",
                                .down = "down_proj",
                                .gate = "gate_proj",
                                .residual = x,
                                .biased = mlp_biased});
    }
    x = graph.rms_norm("model.norm", x, {.eps = eps});
    graph.output("logits",
                 graph.linear("lm_head", x, {.biased = false, .weight = tied ? "model.embed_tokens.weight" : ""}));
    if (tied) draft.unused.insert("lm_head.weight");
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
        {"mistral", [](Draft &draft) { build(draft, {.window = 4096}); }, gguf, "model"},
        {"qwen2", [](Draft &draft) { build(draft, {.biased_heads = true, .slides = false}); }, gguf, "model"},
        {"qwen3", [](Draft &draft) { build(draft, {.normed_heads = true, .head_dim = 128, .slides = false}); }, gguf,
         "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
