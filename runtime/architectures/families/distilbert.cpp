// DistilBERT (Sanh et al., arXiv:1910.01108).
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr double norm_eps = 1e-12;

constexpr std::string_view base = "distilbert";

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("n_layers"), heads = config.positive("n_heads");
    const int64_t positions = config.positive("max_position_embeddings");
    const int64_t vocabulary = config.positive("vocab_size"), width = config.positive("dim");
    const int64_t hidden = config.positive("hidden_dim");
    const std::string activation = config.activation("activation");

    const std::string prefix = std::string(base) + ".", embeddings = prefix + "embeddings.";
    EncoderGraph encoder(draft, base);
    GraphWriter &graph = encoder.graph();
    Tensor x = graph.embedding(embeddings + "word_embeddings", encoder.ids(), {.rows = vocabulary, .channels = width});
    x = graph.learned_positions(embeddings + "position_embeddings", x, "", positions);
    x = graph.layer_norm(embeddings + "LayerNorm", x, {.eps = norm_eps});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = prefix + "transformer.layer." + std::to_string(i), self = layer + ".attention";
        const Tensor q = graph.linear(self + ".q_lin", x, {}), k = graph.linear(self + ".k_lin", x, {}),
                     v = graph.linear(self + ".v_lin", x, {});
        const Tensor attended = graph.attention(self + ".heads", q, k, v,
                                                {.heads = heads, .kv_heads = heads, .key_lengths = encoder.lengths()});
        const Tensor tokens = graph.layer_norm(
            layer + ".sa_layer_norm", graph.linear(self + ".out_lin", attended, {.residual = x}), {.eps = norm_eps});
        x = graph.feed_forward(
            layer + ".ffn", tokens,
            {.hidden = hidden, .activation = activation, .up = "lin1", .down = "lin2", .residual = tokens});
        x = graph.layer_norm(layer + ".output_layer_norm", x, {.eps = norm_eps});
    }
    encoder.add_outputs(x, {.table = embeddings + "word_embeddings.weight",
                            .words = {.dense = "vocab_transform",
                                      .norm = "vocab_layer_norm",
                                      .activation = activation,
                                      .channels = width,
                                      .weight = "vocab_projector.weight",
                                      .bias = "vocab_projector.bias"},
                            .eps = norm_eps,
                            .dense = "pre_classifier",
                            .activation = "relu"});
}

} // namespace

namespace families {

std::span<const Architecture> distilbert() {
    static constexpr std::array<Architecture, 1> kinds{{{"distilbert", build, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
