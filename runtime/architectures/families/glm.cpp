// GLM-4 of 2024 (arXiv:2406.12793), called glm, and of 2025, called glm4, which has norms after attention and after the
// feed-forward layer, too.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

void build(Draft &draft, bool normed_after) {
    const Config &config = draft.config;
    const int64_t layers = layers_without_drafts(draft), width = config.positive("hidden_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real("rms_norm_eps");
    const bool biased = config.flag("attention_bias");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    // In GGUF files of models that see (GLM-4.1V), channels are in another order.
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim, {.part = 0.5}),
                                   !draft.rotary.axes);
    const auto normed = [&](const std::string &module, const Tensor &x, const Tensor &residual = {}) {
        return graph.rms_norm(module, x, {.eps = eps, .residual = residual});
    };
    Tensor x = graph.embedding("model.embed_tokens", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), mlp = layer + ".mlp";
        split(draft, graph, mlp + ".gate_up_proj",
              {.inputs = width, .parts = {{mlp + ".gate_proj", hidden}, {mlp + ".up_proj", hidden}}});
        const Tensor added = normed_after ? "" : x; // by the product itself, if no norm comes between
        const Tensor attended =
            decoder.self_attention(layer + ".self_attn", normed(layer + ".input_layernorm", x),
                                   {.heads = heads, .biased = biased, .rotary = &rotary_layer, .residual = added});
        x = normed_after ? normed(layer + ".post_self_attn_layernorm", attended, x) : attended;
        const Tensor fed = graph.feed_forward(mlp, normed(layer + ".post_attention_layernorm", x),
                                              {.hidden = hidden,
                                               .activation = activation,
                                               .gate = "gate_proj",
                                               .residual = normed_after ? "" : x,
                                               .biased = false});
        x = normed_after ? normed(layer + ".post_mlp_layernorm", fed, x) : fed;
    }
    decoder.add_outputs(normed("model.norm", x), {.vocabulary = vocabulary, .table = "model.embed_tokens.weight"});
}

constexpr std::array<TensorName, 3> tensors{{
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_self_attn_layernorm"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.gate_up_proj"},
    {"blk.{i}.post_ffw_norm", "model.layers.{i}.post_mlp_layernorm"},
}};
constexpr std::array<SettingName, 1> settings{{{"nextn_predict_layers", "nextn_predict_layers"}}};
constexpr std::array<TensorFlag, 1> biases{{{"attention_bias", "blk.0.attn_q.bias"}}};

} // namespace

namespace families {

std::span<const Architecture> glm() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"glm", [](Draft &draft) { build(draft, false); }, {}, "model"},
        {"glm4", [](Draft &draft) { build(draft, true); }, {"glm4", tensors, settings, biases}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
