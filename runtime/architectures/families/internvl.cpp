// InternVL (Chen et al., arXiv:2312.14238; Zhu et al.: InternVL3, arXiv:2504.10479), as transformers has it: what a
// vision transformer makes of the patches of a square becomes one token of a decoder by two products. An image is seen
// in tiles of a grid in its shape, and as a whole.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/squares.hpp"
#include "architectures/vision_tower.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

const std::string tower = "vision_tower.", projector = "multi_modal_projector.";

// The graph "encode_image".
class InternTower {
  public:
    InternTower(Draft &draft, const Config &whole)
        : draft_(draft), whole_(whole), config_(whole.part("vision_config", "internvl_vision")),
          images_(draft, config_), graph_(images_.graph()), width_(config_.positive("hidden_size")),
          heads_(config_.positive("num_attention_heads")), hidden_(config_.positive("intermediate_size")),
          layers_(config_.layers("num_hidden_layers")), eps_(config_.real("layer_norm_eps")), by_squares_(norm_type()),
          biased_(config_.flag("attention_bias")), activation_(config_.activation("hidden_act")),
          side_(patches_of_token()) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads",
                         "expected a number that divides the hidden_size, " + std::to_string(width_));
    }

    void build(Json place) const {
        images_.merge(side_);
        Tensor x = seen();
        x = rows_side_by_side(draft_, graph_, projector + "rows", x, side_ * side_, 1); // without the class token
        constexpr double projector_eps = 1e-5;
        x = norm_side_by_side(draft_, graph_, projector + "layer_norm", x, side_ * side_, projector_eps);
        const std::string first = projector + "linear_1", kernel = first + ".kernel";
        const int64_t outputs = draft_.config.positive("hidden_size");
        graph_.require(first + ".weight", {outputs, graph_.channels(x)});
        draft_.weights.add(kernel, side_by_side(draft_.weights.at(first + ".weight"), side_ * side_));
        draft_.unused.insert(first + ".weight");
        x = graph_.activated(whole_.activation("projector_hidden_act"),
                             graph_.linear(first, x, {.outputs = outputs, .weight = kernel}));
        images_.add_rows(graph_.linear(projector + "linear_2", x, {.outputs = outputs}), std::move(place));
        config_.finish();
    }

  private:
    Draft &draft_;
    const Config &whole_;
    Config config_;
    ImageGraph images_;
    GraphWriter &graph_;
    int64_t width_, heads_, hidden_, layers_;
    double eps_;
    bool by_squares_; // norms by the root mean square
    bool biased_;
    std::string activation_;
    int64_t side_; // patches of a side that become one token

    [[nodiscard]] bool norm_type() const {
        const char *const key = "norm_type";
        const std::string type = config_.text(key);
        if (type != "layer_norm" && type != "rms_norm") config_.fail(key, "expected layer_norm or rms_norm");
        return type == "rms_norm";
    }

    [[nodiscard]] int64_t patches_of_token() const {
        const char *const key = "downsample_ratio";
        const double ratio = whole_.real(key);
        int64_t out = 1;
        while (out < 4 && static_cast<double>(out) * ratio < 1) out *= 2;
        if (images_.rows() != images_.columns())
            config_.fail("image_size", "positions of images that are not square are not supported");
        if (static_cast<double>(out) * ratio != 1 || images_.rows() % out != 0)
            whole_.fail(key, "expected 1, 1/2 or 1/4, of which the inverse divides the " +
                                 std::to_string(images_.rows()) + " patches of an image's side");
        return out;
    }

    // What comes out of the layer that the projector takes.
    [[nodiscard]] Tensor seen() const {
        const char *const key = "vision_feature_layer";
        const auto value = whole_.find(key);
        if (!value || !value->is_number()) whole_.fail(key, "expected the number of a layer");
        const int64_t given = value->integer(INT32_MIN, INT32_MAX), last = given < 0 ? layers_ + 1 + given : given;
        if (given == 0) value->fail("expected a layer, found 0, for which transformers gives nothing");
        if (last < 0 || last > layers_)
            whole_.fail(key, "expected " + std::to_string(-layers_ - 1) + " to " + std::to_string(layers_) +
                                 ", found " + std::to_string(given));
        Tensor x = embedded();
        for (int64_t i = 0; i < last; ++i) x = layer(i, x);
        for (int64_t i = last; i < layers_; ++i) require_layer(i);
        if (config_.flag("use_mean_pooling")) return x; // of a head for classes, which then has the norm
        const std::string norm = tower + "layernorm";
        if (given == -1) return graph_.layer_norm(norm, x, {.eps = eps_});
        for (const char *port : {".weight", ".bias"}) graph_.require(norm + port, {width_});
        return x;
    }

    [[nodiscard]] Tensor embedded() const {
        const std::string embeddings = tower + "embeddings.", positions = embeddings + "position_embeddings";
        Tensor x = images_.embedded(embeddings + "patch_embeddings.projection", width_, true);
        x = images_.with_token(embeddings + "cls_token", x, {1, 1, width_});
        if (config_.flag("use_mask_token")) graph_.require(embeddings + "mask_token", {1, 1, width_}); // for training
        return config_.flag("use_absolute_position_embeddings") ? images_.with_positions(positions, x, 1) : x;
    }

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x) const {
        if (by_squares_) return graph_.rms_norm(module, x, {.eps = eps_});
        return graph_.layer_norm(module, x, {.eps = eps_});
    }

    [[nodiscard]] static std::string name_of(int64_t layer) { return tower + "encoder.layer." + std::to_string(layer); }

    [[nodiscard]] Tensor layer(int64_t number, const Tensor &x) const {
        const std::string name = name_of(number), out = name + ".attention.projection_layer";
        const Tensor attended = attention(name + ".attention", norm(name + ".layernorm_before", x));
        scale_residual(draft_, graph_, out, name + ".lambda_1", width_, width_);
        const Tensor added = graph_.linear(out + ".scaled", attended, {.outputs = width_, .residual = x});
        scale_residual(draft_, graph_, name + ".mlp.fc2", name + ".lambda_2", width_, hidden_);
        return graph_.feed_forward(
            name + ".mlp", norm(name + ".layernorm_after", added),
            {.hidden = hidden_, .activation = activation_, .up = "fc1", .down = "fc2.scaled", .residual = added});
    }

    [[nodiscard]] Tensor attention(const std::string &module, const Tensor &x) const {
        const bool normed = config_.flag("use_qk_norm");
        const auto product = [&](const char *part) {
            return graph_.linear(module + part + "_proj", x, {.outputs = width_, .biased = biased_});
        };
        const auto normed_product = [&](const char *part) { // of all heads together
            const Tensor out = product(part);
            return normed ? graph_.rms_norm(module + part + "_norm", out, {.eps = 1e-6}) : out;
        };
        const Tensor q = normed_product(".q"), k = normed_product(".k");
        return graph_.attention(module + ".heads", q, k, product(".v"), {.heads = heads_, .kv_heads = heads_});
    }

    // Of one that nothing takes.
    void require_layer(int64_t number) const {
        const std::string name = name_of(number) + ".";
        const auto vector = [&](const std::string &tensor) { graph_.require(name + tensor, {width_}); };
        const auto product = [&](const std::string &module, int64_t outputs, int64_t inputs, bool biased) {
            graph_.require(name + module + ".weight", {outputs, inputs});
            graph_.require(name + module + ".bias", {outputs}, biased);
        };
        for (const char *norm : {"layernorm_before", "layernorm_after"}) {
            vector(std::string(norm) + ".weight");
            graph_.require(name + norm + ".bias", {width_}, !by_squares_);
        }
        for (const char *factors : {"lambda_1", "lambda_2"}) vector(factors);
        for (const char *part : {"q", "k", "v"})
            product("attention." + std::string(part) + "_proj", width_, width_, biased_);
        for (const char *part : {"q", "k"})
            graph_.require(name + "attention." + part + "_norm.weight", {width_}, config_.flag("use_qk_norm"));
        product("attention.projection_layer", width_, width_, true);
        product("mlp.fc1", hidden_, width_, true);
        product("mlp.fc2", width_, hidden_, true);
    }
};

// A token that the tokenizer's settings name.
std::string token_named(const Draft &draft, const char *purpose, const char *usual) {
    const auto file = draft.folder / "tokenizer_config.json";
    if (draft.gguf || !has_file(file)) return usual;
    const JsonText document(text_of(file), file.string());
    const Config config(document.root());
    const auto more = config.find("extra_special_tokens");
    const std::string otherwise =
        more && more->is_object() && more->has(purpose) ? std::string(more->at(purpose).string()) : usual;
    return config.text(purpose, otherwise);
}

// As InternVLProcessor writes an image: its tiles and the whole, one after the other.
Json place_of(const Draft &draft, const Config &whole) {
    const char *const token = "image_token_id";
    const std::string image = token_text(draft, whole, token);
    Json out{{"token", whole.integer(token)}};
    if (image.empty()) return out;
    out["mark"] = out["tile"] = image;
    out["before"] = token_named(draft, "start_image_token", "<img>");
    out["text"] = image + token_named(draft, "end_image_token", "</img>");
    out["lines"] = false;
    return out;
}

void see(Draft &draft, const Config &whole) {
    if (!continues_texts(draft)) return; // others read texts alone
    whole.expect("vision_feature_select_strategy", "default");
    InternTower(draft, whole).build(place_of(draft, whole));
    whole.ignore({"image_seq_length", "quantization_config", "vision_config"}); // the first is of the processor
    whole.finish();
}

} // namespace

namespace families {

std::span<const Architecture> internvl() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "internvl",
                                                         .build = nullptr,
                                                         .renamed = older_names_of_towers,
                                                         .of_texts = any_texts,
                                                         .usual_texts = "qwen2",
                                                         .see = see,
                                                         .tied = Architecture::Tied::by_whole}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
