#include "architectures/vit_layers.hpp"

#include <utility>

namespace lamina::architectures {

VitLayers::VitLayers(Draft &draft, const Config &config, std::string prefix, bool distilled, const char *graph)
    : draft_(draft), config_(config), images_(draft, config, false, graph), prefix_(std::move(prefix)),
      distilled_(distilled), eps_(config.real("layer_norm_eps")), width_(config.positive("hidden_size")) {}

GraphWriter::Tensor VitLayers::hidden() const {
    const int64_t layers = config_.layers("num_hidden_layers");
    GraphWriter::Tensor x = embeddings();
    for (int64_t i = 0; i < layers; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
    return images_.graph().layer_norm(prefix_ + "layernorm", x, {.eps = eps_});
}

GraphWriter::Tensor VitLayers::embeddings() const {
    const std::string name = prefix_ + "embeddings.", positions = name + "position_embeddings";
    draft_.unused.insert(name + "mask_token"); // for training
    GraphWriter::Tensor x = images_.embedded(name + "patch_embeddings.projection", width_, true);
    if (distilled_) x = images_.with_token(name + "distillation_token", x, {1, 1, width_});
    x = images_.with_token(name + "cls_token", x, {1, 1, width_});
    return images_.with_positions(positions, x, own_tokens());
}

GraphWriter::Tensor VitLayers::layer(const std::string &name, const GraphWriter::Tensor &x) const {
    GraphWriter &graph = images_.graph();
    const GraphWriter::Tensor attended = images_.attended(
        config_, name + ".attention.attention", graph.layer_norm(name + ".layernorm_before", x, {.eps = eps_}));
    const GraphWriter::Tensor out = graph.linear(name + ".attention.output.dense", attended, {.residual = x});
    return graph.feed_forward(name, graph.layer_norm(name + ".layernorm_after", out, {.eps = eps_}),
                              {.hidden = config_.positive("intermediate_size"),
                               .activation = config_.activation("hidden_act"),
                               .up = "intermediate.dense",
                               .down = "output.dense",
                               .residual = out});
}

} // namespace lamina::architectures
