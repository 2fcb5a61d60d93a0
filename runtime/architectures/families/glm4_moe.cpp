// GLM-4.5, 4.6 and 4.7 (Z.ai, arXiv:2508.06471): decoders like DeepSeek-V3 whose attention is that of Llama. Half of a
// head's channels is turned by positions.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/grouped_mixture.hpp"
#include "architectures/joined.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = layers_without_drafts(draft), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const double eps = config.real("rms_norm_eps");
    const bool biased = config.flag("attention_bias");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim, {.part = 0.5}), false);
    const auto normed = [&](const std::string &module, const Tensor &x) {
        return graph.rms_norm(module, x, {.eps = eps});
    };
    DecoderGraph::HeadNorm head_norm;
    if (config.flag("use_qk_norm"))
        head_norm = [&](const std::string &module, const Tensor &x, int64_t count) {
            return graph.rms_norm(module, x, {.eps = eps, .groups = count});
        };
    const GroupedMixture feed_forward(draft, layers);
    const std::string table = "model.embed_tokens";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        x = decoder.self_attention(
            layer + ".self_attn", normed(layer + ".input_layernorm", x),
            {.heads = heads, .biased = biased, .norm = head_norm, .rotary = &rotary_layer, .residual = x});
        x = feed_forward(i, graph, normed(layer + ".post_attention_layernorm", x), x);
    }
    decoder.add_outputs(normed("model.norm", x), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 1> norm{
    {{"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"}}};
constexpr auto tensors = joined(norm, grouped_mixture_tensors);
constexpr std::array<TensorFlag, 2> flags{{
    {"attention_bias", "blk.0.attn_q.bias"},
    {"use_qk_norm", "blk.0.attn_q_norm.weight"},
}};

} // namespace

namespace families {

std::span<const Architecture> glm4_moe() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"glm4_moe", build, {"glm4moe", tensors, grouped_mixture_settings, flags}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
