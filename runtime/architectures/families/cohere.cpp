// Command R and R+ (Cohere, 2024), and Command R7B and A (arXiv:2504.00698), whose layers with a window take turns with
// layers in which positions do not count. Attention and the feed-forward layer read the same normalized tokens.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// The attention window of each layer; 0: unlimited.
std::vector<int64_t> windows(const Config &config, int64_t layers) {
    const std::vector<std::string> types = config.layer_types(layers);
    if (!types.empty()) config.ignore({"sliding_window_pattern"});
    const int64_t pattern = types.empty() ? config.positive("sliding_window_pattern") : 1;
    std::vector<int64_t> out;
    for (int64_t i = 0; i < layers; ++i) {
        const bool slides =
            types.empty() ? (i + 1) % pattern != 0 : types[static_cast<size_t>(i)] == "sliding_attention";
        out.push_back(slides ? config.positive("sliding_window") : 0);
    }
    return out;
}

void build(Draft &draft, bool alternates) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real("layer_norm_eps"), scale = config.real("logit_scale");
    const bool biased = config.flag("attention_bias");
    const std::vector<int64_t> window =
        alternates ? windows(config, layers) : std::vector<int64_t>(static_cast<size_t>(layers));

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim), true);
    if (alternates && std::ranges::all_of(window, [](int64_t w) { return w == 0; }))
        draft.unused.insert("model.rotary.frequencies");
    Tensor x = graph.embedding("model.embed_tokens", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        const int64_t here = window[static_cast<size_t>(i)];
        const Tensor tokens = graph.layer_norm(layer + ".input_layernorm", x, {.eps = eps, .biased = false});
        const Tensor attended = decoder.self_attention(layer + ".self_attn", tokens,
                                                       {.heads = heads,
                                                        .biased = biased,
                                                        .out_biased = biased,
                                                        .rotary = !alternates || here != 0 ? &rotary_layer : nullptr,
                                                        .window = here,
                                                        .residual = x});
        x = graph.feed_forward(
            layer + ".mlp", tokens,
            {.hidden = hidden, .activation = activation, .gate = "gate_proj", .residual = attended, .biased = false});
    }
    std::string norm = "model.norm";
    if (decoder.scores_words()) norm = scaled_norm(draft, graph, norm, width, scale);
    decoder.add_outputs(graph.layer_norm(norm, x, {.eps = eps, .biased = false}),
                        {.vocabulary = vocabulary, .table = "model.embed_tokens.weight"});
}

constexpr std::array<SettingName, 1> settings{{{"logit_scale", "logit_scale"}}};
constexpr std::array<TensorFlag, 1> biases{{{"attention_bias", "blk.0.attn_q.bias"}}};

} // namespace

namespace families {

std::span<const Architecture> cohere() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"cohere", [](Draft &draft) { build(draft, false); }, {"command-r", {}, settings, biases}, "model"},
        {"cohere2", [](Draft &draft) { build(draft, true); }, {"cohere2", {}, settings, biases}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
