// DINOv2 (Oquab et al., arXiv:2304.07193): a vision transformer with scaled residuals, for images of any size.
#include "architectures/architecture.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/weight_parts.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "dinov2";

class Dinov2 {
  public:
    explicit Dinov2(Draft &draft)
        : draft_(draft), config_(draft.config), images_(draft, draft.config, true), graph_(images_.graph()),
          prefix_(std::string(base) + "."), eps_(config_.real("layer_norm_eps")),
          width_(config_.positive("hidden_size")) {}

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers");
        const std::string name = prefix_ + "embeddings.";
        graph_.require(name + "mask_token", {1, width_}, config_.flag("use_mask_token"));
        draft_.unused.insert(name + "mask_token"); // for training
        // About training, and about backbones of other models.
        config_.ignore({"drop_path_rate", "layerscale_value", "out_features", "out_indices"});
        Tensor x = images_.embedded(name + "patch_embeddings.projection", width_, true);
        x = images_.with_token(name + "cls_token", x, {1, 1, width_});
        x = images_.with_positions(name + "position_embeddings", x, 1);
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
        x = graph_.layer_norm(prefix_ + "layernorm", x, {.eps = eps_});
        graph_.output("hidden", x);
        const Tensor first = graph_.layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}});
        if (!draft_.task)
            draft_.task = draft_.weights.entries().contains("classifier.weight") ? Task::images : Task::none;
        if (draft_.task == Task::none) return images_.add_output("embedding", first, false);
        if (draft_.task != Task::images)
            config_.fail("architectures", "this head is not supported; supported: Dinov2ForImageClassification, and "
                                          "the model without a head");
        const Tensor mean = graph_.layer(prefix_ + "patches", "pooling", {{"x", x}}, {{"kind", "mean"}, {"skip", 1}});
        const Tensor both = graph_.layer(prefix_ + "both", "concat", {{"a", first}, {"b", mean}});
        graph_.set_channels(both, 2 * width_);
        images_.add_output("logits", graph_.linear("classifier", both, {.outputs = label_count(config_)}), true);
    }

  private:
    Draft &draft_;
    const Config &config_;
    ImageGraph images_;
    GraphWriter &graph_;
    std::string prefix_;
    double eps_;
    int64_t width_;

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string out = name + ".attention.output.dense";
        const Tensor attended = images_.attended(config_, name + ".attention.attention",
                                                 graph_.layer_norm(name + ".norm1", x, {.eps = eps_}));
        scale_residual(draft_, graph_, out, name + ".layer_scale1.lambda1", width_, graph_.channels(attended));
        const Tensor added = graph_.linear(
            out, attended, {.residual = x, .weight = out + ".scaled.weight", .bias = out + ".scaled.bias"});
        return feed_forward(name, graph_.layer_norm(name + ".norm2", added, {.eps = eps_}), added);
    }

    Tensor feed_forward(const std::string &name, const Tensor &x, const Tensor &residual) {
        const bool gated = config_.flag("use_swiglu_ffn");
        const auto whole = static_cast<int64_t>(static_cast<double>(width_) * config_.real("mlp_ratio"));
        const int64_t hidden = gated ? (whole * 2 / 3 + 7) / 8 * 8 : whole;
        const std::string down = name + (gated ? ".mlp.weights_out" : ".mlp.fc2"), in = name + ".mlp.weights_in";
        scale_residual(draft_, graph_, down, name + ".layer_scale2.lambda1", width_, hidden);
        GraphWriter::FeedForward options{
            .hidden = hidden, .activation = "silu", .up = "fc1", .down = "fc2.scaled", .residual = residual};
        if (!gated) options.activation = config_.activation("hidden_act");
        if (gated) {
            options.gate = "gate_proj", options.up = "up_proj", options.down = "weights_out.scaled";
            graph_.require(in + ".weight", {2 * hidden, width_});
            graph_.require(in + ".bias", {2 * hidden});
            for (const char *port : {".weight", ".bias"}) {
                const model::Weight both = draft_.weights.at(in + port);
                draft_.weights.add(name + ".mlp.gate_proj" + port, part_of(both, 0, 2));
                draft_.weights.add(name + ".mlp.up_proj" + port, part_of(both, 1, 2));
                draft_.unused.insert(in + port);
            }
        }
        return graph_.feed_forward(name + ".mlp", x, options);
    }
};

} // namespace

namespace families {

std::span<const Architecture> dinov2() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"dinov2", [](Draft &draft) { Dinov2(draft).build(); }, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
