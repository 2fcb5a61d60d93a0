#include "architectures/bart_layers.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::architectures {
namespace {

GraphWriter::Tensor attention(GraphWriter &graph, const std::string &module, const GraphWriter::Tensor &x,
                              const GraphWriter::Tensor &k, const GraphWriter::Tensor &v,
                              const GraphWriter::Attention &options, const GraphWriter::Tensor &residual) {
    const GraphWriter::Tensor q = graph.linear(module + ".q_proj", x, {});
    return graph.linear(module + ".out_proj", graph.attention(module + ".heads", q, k, v, options),
                        {.residual = residual});
}

// As fairseq computes them, in floats (transformers, modeling_m2m_100.py).
Tensor fairseq_sinusoids(const Config &config, int64_t positions, int64_t width) {
    const int64_t half = width / 2, first = config.integer("pad_token_id") + 1;
    if (width % 2 != 0 || half < 2) config.fail("d_model", "expected an even number, 4 or more");
    constexpr int64_t most_values = 64 << 20; // so that a bad file cannot exhaust memory
    if (positions > most_values / width)
        config.fail("max_position_embeddings",
                    "expected at most " + std::to_string(most_values / width) + " with this d_model");
    const auto step = static_cast<float>(std::log(10000.0) / static_cast<double>(half - 1));
    Tensor out(TensorType{DType::f32, {positions, width}});
    for (int64_t row = 0; row < positions; ++row)
        for (int64_t i = 0; i < half; ++i) {
            const float angle = static_cast<float>(first + row) * std::exp(static_cast<float>(i) * -step);
            out.f32()[static_cast<size_t>(row * width + i)] = std::sin(angle);
            out.f32()[static_cast<size_t>(row * width + half + i)] = std::cos(angle);
        }
    return out;
}

} // namespace

BartLayers::BartLayers(Draft &draft, const Config &config, bool normed_before)
    : draft_(draft), config_(config), normed_before_(normed_before),
      activation_(config.activation("activation_function")), width_(config.positive("d_model")),
      positions_(config.positive("max_position_embeddings")) {}

GraphWriter::Tensor BartLayers::added(
    GraphWriter &graph, const std::string &norm, const GraphWriter::Tensor &x,
    const std::function<GraphWriter::Tensor(const GraphWriter::Tensor &tokens, const GraphWriter::Tensor &residual)>
        &part) const {
    if (normed_before_) return part(graph.layer_norm(norm, x, {.eps = eps}), x);
    return graph.layer_norm(norm, part(x, x), {.eps = eps});
}

GraphWriter::Tensor BartLayers::self_attention(GraphWriter &graph, const std::string &module,
                                               const GraphWriter::Tensor &x,
                                               const GraphWriter::Attention &options) const {
    return added(graph, module + "_layer_norm", x,
                 [&](const GraphWriter::Tensor &tokens, const GraphWriter::Tensor &residual) {
                     return attention(graph, module, tokens, graph.linear(module + ".k_proj", tokens, {}),
                                      graph.linear(module + ".v_proj", tokens, {}), options, residual);
                 });
}

GraphWriter::Tensor BartLayers::source_attention(GraphWriter &graph, const std::string &module,
                                                 const GraphWriter::Tensor &x, const GraphWriter::Tensor &k,
                                                 const GraphWriter::Tensor &v,
                                                 const GraphWriter::Attention &options) const {
    return added(graph, module + "_layer_norm", x,
                 [&](const GraphWriter::Tensor &tokens, const GraphWriter::Tensor &residual) {
                     return attention(graph, module, tokens, k, v, options, residual);
                 });
}

GraphWriter::Tensor BartLayers::feed_forward(GraphWriter &graph, const std::string &layer, const GraphWriter::Tensor &x,
                                             int64_t hidden) const {
    return added(
        graph, layer + ".final_layer_norm", x,
        [&](const GraphWriter::Tensor &tokens, const GraphWriter::Tensor &residual) {
            return graph.feed_forward(
                layer, tokens,
                {.hidden = hidden, .activation = activation_, .up = "fc1", .down = "fc2", .residual = residual});
        });
}

std::string BartLayers::learned_rows(GraphWriter &graph, const std::string &module) const {
    const std::string table = module + ".weight", rows = module + ".rows";
    graph.require(table, {positions_ + 2, width_});
    draft_.unused.insert(table);
    draft_.weights.add(rows + ".weight", draft_.weights.at(table).rows(2, positions_ + 2));
    return rows;
}

std::string BartLayers::fairseq_rows(const std::string &module) const {
    // transformers gives padding no position, wherever it stands.
    const int64_t padding = config_.integer("pad_token_id");
    for (const auto &place : draft_.tokens.start)
        if (std::ranges::count(place, padding) != 0)
            draft_.generation.fail("decoder_start_token_id", "expected another token than the padding, " +
                                                                 std::to_string(padding) +
                                                                 ", which has no position in such a model");
    const std::string rows = module + ".rows";
    draft_.weights.add(rows + ".weight", model::Weight::of(fairseq_sinusoids(config_, positions_, width_)));
    return rows;
}

} // namespace lamina::architectures
