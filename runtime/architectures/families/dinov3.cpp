// DINOv3 (Siméoni et al., arXiv:2508.10104): a vision transformer with scaled residuals and rotary positions of
// patches, for images of any size.
#include "architectures/architecture.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "model";

class Dinov3 {
  public:
    explicit Dinov3(Draft &draft)
        : draft_(draft), config_(draft.config), images_(draft, draft.config, true), graph_(images_.graph()),
          prefix_(std::string(base) + "."), eps_(config_.real("layer_norm_eps")),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          registers_(config_.integer("num_register_tokens")), hidden_(config_.positive("intermediate_size")),
          activation_(config_.activation("hidden_act")) {}

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers");
        // About training, and about backbones of other models.
        config_.ignore({"drop_path_rate", "layerscale_value", "out_features", "out_indices", "pos_embed_jitter",
                        "pos_embed_rescale", "pos_embed_shift"});
        add_angles();
        Tensor x = with_tokens(images_.embedded(prefix_ + "embeddings.patch_embeddings", width_, true));
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix_ + "layer." + std::to_string(i), x);
        x = graph_.layer_norm(prefix_ + "norm", x, {.eps = eps_});
        graph_.output("hidden", x);
        if (!draft_.task) draft_.task = Task::none;
        if (draft_.task != Task::none)
            config_.fail("architectures", "this head is not supported; supported: the model without a head");
        images_.add_output("embedding", graph_.layer(prefix_ + "first", "pooling", {{"x", x}}, {{"kind", "first"}}),
                           false);
    }

  private:
    Draft &draft_;
    const Config &config_;
    ImageGraph images_;
    GraphWriter &graph_;
    std::string prefix_;
    double eps_;
    int64_t width_, heads_, registers_, hidden_;
    std::string activation_;
    std::string angles_ = prefix_ + "rotary.angles"; // of each row

    // The class token, registers, and patches.
    Tensor with_tokens(Tensor x) {
        const std::string name = prefix_ + "embeddings.", mask = name + "mask_token", others = name + "register_tokens";
        graph_.require(mask, {1, 1, width_});
        draft_.unused.insert(mask); // for training
        graph_.require(others, {1, registers_, width_});
        draft_.unused.insert(others);
        if (registers_ != 0) {
            draft_.weights.add(others + ".rows", draft_.weights.at(others).shaped({registers_, width_}));
            x = graph_.layer(others, "prepend", {{"x", x}});
        }
        return images_.with_token(name + "cls_token", x, {1, 1, width_});
    }

    // Half of the pairs of a head turn with the middle of a patch's rows, the others with that of its columns, both
    // from -1 to 1 in the image. What comes before patches is not turned.
    void add_angles() {
        const int64_t channels = width_ / heads_, tokens = 1 + registers_;
        constexpr int64_t most_registers = 1024; // so that a bad file cannot exhaust memory
        if (width_ % heads_ != 0 || channels % 4 != 0)
            config_.fail("num_attention_heads", "expected heads of a multiple of 4 channels, found " +
                                                    std::to_string(width_) + " channels in " + std::to_string(heads_) +
                                                    " heads");
        if (registers_ > most_registers)
            config_.fail("num_register_tokens", "expected 0 to " + std::to_string(most_registers));
        const double theta = config_.real("rope_theta");
        if (!(theta > 0)) config_.fail("rope_theta", "expected a number above 0");
        std::vector<float> all(static_cast<size_t>(tokens * channels / 2));
        const auto add = [&](int64_t at, int64_t of) {
            const double place = static_cast<double>(2 * at + 1) / static_cast<double>(of) - 1;
            for (int64_t i = 0; i < channels / 4; ++i)
                all.push_back(
                    static_cast<float>(2 * std::numbers::pi * place *
                                       std::pow(theta, -4 * static_cast<double>(i) / static_cast<double>(channels))));
        };
        for (int64_t y = 0; y < images_.rows(); ++y)
            for (int64_t x = 0; x < images_.columns(); ++x) add(y, images_.rows()), add(x, images_.columns());
        draft_.weights.add(angles_, model::Weight::of(lamina::Tensor::of({static_cast<int64_t>(all.size())}, all)));
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string module = name + ".attention", out = module + ".o_proj";
        const Tensor normed = graph_.layer_norm(name + ".norm1", x, {.eps = eps_});
        const auto product = [&](const char *part, const char *bias) {
            return graph_.linear(module + part, normed, {.outputs = width_, .biased = config_.flag(bias)});
        };
        const Tensor q = rotated(module + ".q_rotary", product(".q_proj", "query_bias")),
                     k = rotated(module + ".k_rotary", product(".k_proj", "key_bias")),
                     v = product(".v_proj", "value_bias");
        const Tensor attended = graph_.attention(module + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_});
        const bool biased = config_.flag("proj_bias");
        scale(out, name + ".layer_scale1.lambda1", width_, biased);
        const Tensor added = graph_.linear(out, attended,
                                           {.residual = x,
                                            .biased = biased,
                                            .weight = out + ".scaled.weight",
                                            .bias = biased ? out + ".scaled.bias" : ""});
        return feed_forward(name, graph_.layer_norm(name + ".norm2", added, {.eps = eps_}), added);
    }

    Tensor rotated(const std::string &name, const Tensor &x) {
        return graph_.layer(name, "rotary", {{"x", x}}, {{"heads", heads_}, {"layout", "halves"}, {"angles", true}},
                            {{"frequencies", angles_}});
    }

    Tensor feed_forward(const std::string &name, const Tensor &x, const Tensor &residual) {
        const bool biased = config_.flag("mlp_bias");
        scale(name + ".mlp.down_proj", name + ".layer_scale2.lambda1", hidden_, biased);
        return graph_.feed_forward(name + ".mlp", x,
                                   {.hidden = hidden_,
                                    .activation = activation_,
                                    .up = "up_proj",
                                    .down = "down_proj.scaled",
                                    .gate = config_.flag("use_gated_mlp") ? "gate_proj" : "",
                                    .residual = residual,
                                    .biased = biased});
    }

    // Makes MODULE.scaled of a product: what it adds to its residual is multiplied by these factors.
    void scale(const std::string &module, const std::string &factors, int64_t inputs, bool biased) {
        graph_.require(factors, {width_});
        graph_.require(module + ".weight", {width_, inputs});
        graph_.require(module + ".bias", {width_}, biased);
        const model::Weight by = draft_.weights.at(factors);
        draft_.unused.insert(factors);
        for (const char *port : {".weight", ".bias"}) {
            if (port == std::string_view(".bias") && !biased) continue;
            const model::Weight given = draft_.weights.at(module + port);
            draft_.weights.add(module + ".scaled" + port, rows_scaled(given, by));
            draft_.unused.insert(module + port);
        }
    }
};

// Where transformers has the layers itself, which published files have beside all else.
constexpr std::array<Renaming, 1> encoder{{{"model.layer.", "layer."}}};

} // namespace

namespace families {

std::span<const Architecture> dinov3() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"dinov3_vit", [](Draft &draft) { Dinov3(draft).build(); }, {}, base, encoder}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
