// Gemma 2 (arXiv:2408.00118) and Gemma 3 (arXiv:2503.19786), text only.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/rotary.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Gemma 3 normalizes queries and keys, and its sliding layers have rotary frequencies of their own. Gemma 2 caps
// scores.
enum class Version { two, three };

// Which layers have a sliding window.
std::vector<bool> sliding_layers(const Config &config, int64_t layers, Version version) {
    const std::vector<std::string> types = config.layer_types(layers);
    const int64_t pattern = version == Version::two ? 2 : config.positive("sliding_window_pattern");
    std::vector<bool> out;
    for (int64_t i = 0; i < layers; ++i) // without types, every pattern-th layer has full attention
        out.push_back(types.empty() ? (i + 1) % pattern != 0 : types[static_cast<size_t>(i)] == "sliding_attention");
    return out;
}

// The files store a norm's weight minus 1.
GraphWriter::RmsNorm norm(double eps, const Tensor &residual = {}) {
    return {.eps = eps, .weight_offset = 1, .residual = residual};
}

void build(Draft &draft, Version version) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"), kv_heads = config.positive("num_key_value_heads");
    const int64_t head_dim = config.positive("head_dim");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    if (!(config.real("query_pre_attn_scalar") > 0)) config.fail("query_pre_attn_scalar", "expected a number above 0");
    const double eps = config.real("rms_norm_eps"), scale = 1 / std::sqrt(config.real("query_pre_attn_scalar"));
    const auto cap_of = [&](const char *key) { return config.reads(key) ? config.real(key, 0) : 0; };
    const double softcap = cap_of("attn_logit_softcapping"), cap = cap_of("final_logit_softcapping");
    const bool biased = config.flag("attention_bias");
    const std::string activation = config.activation("hidden_activation");
    const std::vector<bool> sliding_layer = sliding_layers(config, layers, version);
    const bool any_slides = std::ranges::find(sliding_layer, true) != sliding_layer.end();
    const int64_t window = any_slides || config.has("sliding_window") ? config.positive("sliding_window") : 0;
    if (config.flag("use_bidirectional_attention"))
        config.fail("use_bidirectional_attention", "true is not supported; expected false");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const Tensor &ids = decoder.ids(), &position = decoder.position();
    const bool layered = version == Version::three;
    const RotaryLayer full(draft, "model.rotary.full", rotary(draft, head_dim, layered ? "full_attention" : ""), false);
    const RotaryLayer sliding(draft, "model.rotary.sliding",
                              rotary(draft, head_dim, layered ? "sliding_attention" : ""), false);
    if (std::ranges::find(sliding_layer, false) == sliding_layer.end()) draft.unused.insert("model.rotary.full");
    if (!any_slides) draft.unused.insert("model.rotary.sliding");
    Tensor x = graph.embedding("model.embed_tokens", ids,
                               {.rows = vocabulary, .channels = width, .scale = std::sqrt(static_cast<double>(width))});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        const bool slides = sliding_layer[static_cast<size_t>(i)];
        const RotaryLayer &turned = slides ? sliding : full;
        Tensor tokens = graph.rms_norm(layer + ".input_layernorm", x, norm(eps));
        Tensor q = graph.linear(self + ".q_proj", tokens, {.outputs = heads * head_dim, .biased = biased});
        Tensor k = graph.linear(self + ".k_proj", tokens, {.outputs = kv_heads * head_dim, .biased = biased});
        const Tensor v = graph.linear(self + ".v_proj", tokens, {.outputs = kv_heads * head_dim, .biased = biased});
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
                                                 .position = position,
                                                 .key_lengths = decoder.lengths()});
        const Tensor out = graph.linear(self + ".o_proj", attended, {.outputs = width, .biased = biased});
        x = graph.rms_norm(layer + ".post_attention_layernorm", out, norm(eps, x));
        tokens = graph.rms_norm(layer + ".pre_feedforward_layernorm", x, norm(eps));
        const Tensor fed = graph.feed_forward(layer + ".mlp", tokens,
                                              {.hidden = hidden,
                                               .activation = activation,
                                               .up = "up_proj",
                                               .down = "down_proj",
                                               .gate = "gate_proj",
                                               .biased = false});
        x = graph.rms_norm(layer + ".post_feedforward_layernorm", fed, norm(eps, x));
    }
    x = graph.rms_norm("model.norm", x, norm(eps));
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = "model.embed_tokens.weight", .softcap = cap});
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
