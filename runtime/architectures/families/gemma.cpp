// Gemma 2 (arXiv:2408.00118) and Gemma 3 (arXiv:2503.19786), text only.
#include "architectures/architecture.hpp"
#include "architectures/rotary.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Gemma 3 normalizes queries and keys, and its sliding layers have rotary frequencies of their own. Gemma 2 caps
// scores.
enum class Version { two, three };

bool is_sliding(const Config &config, const std::vector<std::string> &types, int64_t layer, Version version) {
    if (!types.empty()) return types[static_cast<size_t>(layer)] == "sliding_attention";
    const int64_t pattern = version == Version::two ? 2 : config.positive("sliding_window_pattern");
    return (layer + 1) % pattern != 0; // every pattern-th layer has full attention
}

// The rotary positions of layers with a sliding window.
Rotary sliding_rotary(const Config &config, int64_t head_dim, Version version) {
    if (version == Version::two) return rotary(config, head_dim);
    if (config.has("rope_parameters")) return rotary(config, head_dim, 10000, "sliding_attention");
    return plain_rotary(head_dim, config.real("rope_local_base_freq", 10000), 0);
}

// The files store a norm's weight minus 1.
GraphWriter::RmsNorm norm(double eps, const Tensor &residual = {}) {
    return {.eps = eps, .weight_offset = 1, .residual = residual};
}

void build(Draft &draft, Version version) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"), kv_heads = config.positive("num_key_value_heads");
    const int64_t head_dim = config.positive("head_dim"), window = config.integer("sliding_window", 4096);
    const double eps = config.real("rms_norm_eps", 1e-6);
    const double scale = 1 / std::sqrt(config.real("query_pre_attn_scalar", 256));
    const double softcap = config.real("attn_logit_softcapping", 0), cap = config.real("final_logit_softcapping", 0);
    const bool biased = config.flag("attention_bias", false), tied = config.flag("tie_word_embeddings", true);
    const std::string activation = config.activation("hidden_activation", "gelu_pytorch_tanh");
    const std::vector<std::string> types = config.layer_types(layers);
    config.expect("use_bidirectional_attention", false);
    config.ignore({"intermediate_size", "hidden_act", "cache_implementation", "_sliding_window_pattern",
                   "sliding_window_pattern"});

    GraphWriter &graph = draft.graph("decode");
    const Tensor ids = graph.input("ids", DType::i32, "B T"), position = graph.input("position", DType::i32, "B");
    const RotaryLayer full(draft, "model.rotary.full",
                           rotary(config, head_dim, version == Version::two ? 1e4 : 1e6, "full_attention"), false);
    const RotaryLayer sliding(draft, "model.rotary.sliding", sliding_rotary(config, head_dim, version), false);
    Tensor x = graph.embedding("model.embed_tokens", ids, {.scale = std::sqrt(static_cast<double>(width))});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        const bool slides = is_sliding(config, types, i, version);
        const RotaryLayer &turned = slides ? sliding : full;
        Tensor tokens = graph.rms_norm(layer + ".input_layernorm", x, norm(eps));
        Tensor q = graph.linear(self + ".q_proj", tokens, {.biased = biased});
        Tensor k = graph.linear(self + ".k_proj", tokens, {.biased = biased});
        const Tensor v = graph.linear(self + ".v_proj", tokens, {.biased = biased});
        if (version == Version::three) {
            q = graph.rms_norm(self + ".q_norm", q, {.eps = eps, .weight_offset = 1, .groups = heads});
            k = graph.rms_norm(self + ".k_norm", k, {.eps = eps, .weight_offset = 1, .groups = kv_heads});
        }
        q = turned(graph, self + ".q_rotary", q, heads, position);
        k = turned(graph, self + ".k_rotary", k, kv_heads, position);
        const Tensor attended = graph.attention(self + ".heads", q, k, v,
                                                {.heads = heads,
                                                 .kv_heads = kv_heads,
                                                 .causal = true,
                                                 .scale = scale,
                                                 .softcap = softcap,
                                                 .window = slides ? window : 0,
                                                 .position = position});
        const Tensor out = graph.linear(self + ".o_proj", attended, {.biased = biased});
        x = graph.rms_norm(layer + ".post_attention_layernorm", out, norm(eps, x));
        tokens = graph.rms_norm(layer + ".pre_feedforward_layernorm", x, norm(eps));
        const Tensor hidden = graph.feed_forward(
            layer + ".mlp", tokens,
            {.activation = activation, .up = "up_proj", .down = "down_proj", .gate = "gate_proj", .biased = false});
        x = graph.rms_norm(layer + ".post_feedforward_layernorm", hidden, norm(eps, x));
    }
    x = graph.rms_norm("model.norm", x, norm(eps));
    Tensor logits = graph.linear("lm_head", x, {.biased = false, .weight = tied ? "model.embed_tokens.weight" : ""});
    if (cap != 0)
        logits =
            graph.layer("lm_head.softcap", "activation", {{"x", logits}}, {{"activation", "tanh"}, {"scale", cap}});
    graph.output("logits", logits);
    if (tied) draft.unused.insert("lm_head.weight");
}

} // namespace

namespace families {

std::span<const Architecture> gemma() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"gemma2", [](Draft &draft) { build(draft, Version::two); }, {}, "model"},
        {"gemma3_text", [](Draft &draft) { build(draft, Version::three); }, {}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
