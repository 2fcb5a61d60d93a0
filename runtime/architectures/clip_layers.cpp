#include "architectures/clip_layers.hpp"

#include <utility>

namespace lamina::architectures {

ClipLayers::ClipLayers(GraphWriter &graph, const Config &config, std::string prefix)
    : graph_(graph), prefix_(std::move(prefix)), eps_(config.real("layer_norm_eps")),
      heads_(config.positive("num_attention_heads")), width_(config.positive("hidden_size")),
      hidden_(config.positive("intermediate_size")), count_(config.layers("num_hidden_layers")),
      activation_(config.activation("hidden_act")) {}

GraphWriter::Tensor ClipLayers::norm(const std::string &name, const GraphWriter::Tensor &x) const {
    return graph_.layer_norm(prefix_ + name, x, {.eps = eps_});
}

void ClipLayers::require_norm(const std::string &name) const {
    for (const char *port : {".weight", ".bias"}) graph_.require(prefix_ + name + port, {width_});
}

void ClipLayers::require_layer(int64_t number) const {
    const std::string name = "encoder.layers." + std::to_string(number);
    const auto product = [&](const std::string &module, int64_t outputs, int64_t inputs) {
        graph_.require(prefix_ + name + module + ".weight", {outputs, inputs});
        graph_.require(prefix_ + name + module + ".bias", {outputs});
    };
    for (const char *norm : {".layer_norm1", ".layer_norm2"}) require_norm(name + norm);
    for (const char *of : {"q_proj", "k_proj", "v_proj", "out_proj"})
        product(std::string(".self_attn.") + of, width_, width_);
    product(".mlp.fc1", hidden_, width_);
    product(".mlp.fc2", width_, hidden_);
}

GraphWriter::Tensor ClipLayers::all(GraphWriter::Tensor x, bool causal, const GraphWriter::Tensor &lengths) const {
    for (int64_t i = 0; i < count_; ++i) x = layer(i, x, causal, lengths);
    return x;
}

GraphWriter::Tensor ClipLayers::feed_forward(const std::string &name, const GraphWriter::Tensor &x,
                                             const GraphWriter::Tensor &residual) const {
    return graph_.feed_forward(
        prefix_ + name, x,
        {.hidden = hidden_, .activation = activation_, .up = "fc1", .down = "fc2", .residual = residual});
}

GraphWriter::Tensor ClipLayers::layer(int64_t number, const GraphWriter::Tensor &x, bool causal,
                                      const GraphWriter::Tensor &lengths) const {
    const std::string name = "encoder.layers." + std::to_string(number), self = prefix_ + name + ".self_attn";
    const GraphWriter::Tensor normed = norm(name + ".layer_norm1", x);
    const GraphWriter::Tensor q = graph_.linear(self + ".q_proj", normed, {}),
                              k = graph_.linear(self + ".k_proj", normed, {}),
                              v = graph_.linear(self + ".v_proj", normed, {});
    const GraphWriter::Tensor attended = graph_.attention(
        self + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_, .causal = causal, .key_lengths = lengths});
    const GraphWriter::Tensor out = graph_.linear(self + ".out_proj", attended, {.residual = x});
    return feed_forward(name + ".mlp", norm(name + ".layer_norm2", out), out);
}

} // namespace lamina::architectures
