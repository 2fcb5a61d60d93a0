// OPT (Zhang et al., arXiv:2205.01068). docs/new_architecture.md walks through this file.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

void build(Draft &draft) {
    // ---- Settings ----
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), heads = config.positive("num_attention_heads");
    const int64_t width = config.positive("hidden_size"), positions = config.positive("max_position_embeddings");
    const std::string activation = config.activation("activation_function");
    const bool biased = config.flag("enable_bias");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("ffn_dim");
    constexpr double eps = 1e-5;
    config.expect("word_embed_proj_dim", static_cast<double>(width));

    // ---- Weights in another layout: the first two rows of this table are padding ----
    const std::string stack = "model.decoder", table = stack + ".embed_positions.weight";
    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    graph.require(table, {positions + 2, width});
    draft.weights.add(stack + ".positions.weight", draft.weights.at(table).rows(2, positions + 2));
    draft.unused.insert(table);

    // ---- Layers ----
    const Tensor &ids = decoder.ids(), &position = decoder.position();
    Tensor x = graph.embedding(stack + ".embed_tokens", ids, {.rows = vocabulary, .channels = width});
    x = graph.learned_positions(stack + ".positions", x, position, positions);
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = stack + ".layers." + std::to_string(i), self = layer + ".self_attn";
        const Tensor tokens = graph.layer_norm(layer + ".self_attn_layer_norm", x, {.eps = eps});
        x = decoder.self_attention(self, tokens,
                                   {.heads = {heads, heads, width / heads},
                                    .biased = biased,
                                    .out_biased = biased,
                                    .out = "out_proj",
                                    .residual = x});
        x = graph.feed_forward(
            layer, graph.layer_norm(layer + ".final_layer_norm", x, {.eps = eps}),
            {.hidden = hidden, .activation = activation, .up = "fc1", .down = "fc2", .residual = x, .biased = biased});
    }
    x = graph.layer_norm(stack + ".final_layer_norm", x, {.eps = eps});
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = stack + ".embed_tokens.weight"});
}

} // namespace

namespace families {

std::span<const Architecture> opt() {
    static constexpr std::array<Architecture, 1> kinds{{{"opt", build, {}, "model"}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
