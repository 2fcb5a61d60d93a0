// LayoutLMv3 (Huang et al., arXiv:2204.08387): reads the words of a page, where they stand on it, and the page's image,
// with the heads of its published models.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/image_graph.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "layoutlmv3";

class LayoutLmV3 {
  public:
    explicit LayoutLmV3(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          eps_(config_.real("layer_norm_eps")), prefix_(encoder_.prefix()), width_(config_.positive("hidden_size")),
          heads_(config_.positive("num_attention_heads")), sees_(config_.flag("visual_embed")),
          by_order_(config_.flag("has_relative_attention_bias")),
          by_place_(config_.flag("has_spatial_attention_bias")) {
        config_.expect("text_embed", true);
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width_));
    }

    void build() {
        const int64_t layers = config_.layers("num_hidden_layers");
        const Tensor boxes = graph_.input("boxes", DType::i32, "B T 4"), words = embeddings(boxes);
        if (!sees_) config_.ignore({"input_size", "num_channels", "patch_size"});
        Tensor x = sees_ ? with_image(words) : words;
        add_biases(boxes);
        for (int64_t i = 0; i < layers; ++i) x = layer(prefix_ + "encoder.layer." + std::to_string(i), x);
        add_outputs(x);
    }

  private:
    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    double eps_;
    std::string prefix_;
    int64_t width_, heads_;
    bool sees_, by_order_, by_place_; // the image; biases by distances in a text, and on a page
    int64_t image_rows_ = 0;          // behind those of words: one of the whole image, and one for each patch
    Tensor bias_, key_mask_;          // of all layers; empty: there is none

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x, double eps) {
        return graph_.layer_norm(module, x, {.eps = eps});
    }

    Tensor embeddings(const Tensor &boxes) {
        const std::string name = prefix_ + "embeddings.";
        const Tensor all =
            encoder_.embeddings({.channels = width_, .first_position = config_.integer("pad_token_id") + 1});
        return norm(name + "LayerNorm", on_page(name, all, boxes), eps_);
    }

    Tensor on_page(const std::string &name, const Tensor &x, const Tensor &boxes) {
        constexpr int64_t most = 1024; // from here on, transformers has another limit for heights than for places
        const int64_t places = config_.positive("max_2d_position_embeddings"),
                      of_place = config_.positive("coordinate_size"), of_side = config_.positive("shape_size");
        if (places > most) config_.fail("max_2d_position_embeddings", "expected at most " + std::to_string(most));
        if (4 * of_place + 2 * of_side != width_)
            config_.fail("coordinate_size",
                         "expected that 4 times it and 2 times shape_size are hidden_size, " + std::to_string(width_));
        Json tables = Json::object();
        for (const auto &[port, table, channels] : {std::tuple("x_table", "x_position_embeddings.weight", of_place),
                                                    {"y_table", "y_position_embeddings.weight", of_place},
                                                    {"height_table", "h_position_embeddings.weight", of_side},
                                                    {"width_table", "w_position_embeddings.weight", of_side}}) {
            graph_.require(name + table, {places, channels});
            tables[port] = name + table;
        }
        return graph_.layer(name + "boxes", "layout_embedding", {{"x", x}, {"boxes", boxes}}, {}, tables);
    }

    Tensor with_image(const Tensor &words) {
        constexpr double image_eps = 1e-6; // whatever config.json says
        (void)config_.positive("patch_size");
        const ImageGraph images(draft_, config_, false, "encode", "input_size");
        Tensor x = images.embedded(prefix_ + "patch_embed.proj", width_, true);
        x = images.with_token(prefix_ + "cls_token", x, {1, 1, width_});
        x = images.with_positions(prefix_ + "pos_embed", x, 1);
        image_rows_ = images.patches() + 1;
        const Tensor both =
            graph_.layer(prefix_ + "page", "append", {{"x", words}, {"other", norm(prefix_ + "norm", x, image_eps)}});
        return norm(prefix_ + "LayerNorm", both, eps_);
    }

    // Those on a page are used only beside those in a text.
    void add_biases(const Tensor &boxes) {
        const std::string name = prefix_ + "encoder.";
        Json params{{"heads", heads_}, {"image_rows", image_rows_}}, tables = Json::object();
        const auto table = [&](const char *port, const std::string &module, int64_t buckets, bool used) {
            graph_.require(name + module + ".weight", {heads_, buckets});
            if (used)
                tables[port] = name + module + ".weight";
            else
                draft_.unused.insert(name + module + ".weight");
        };
        config_.ignore(
            {"max_rel_2d_pos", "max_rel_pos", "rel_2d_pos_bins", "rel_pos_bins"}); // where there are no biases
        if (by_order_) {
            table("table", "rel_pos_bias", config_.positive("rel_pos_bins"), true);
            params["scale"] = 1 / std::sqrt(static_cast<double>(width_ / heads_));
            params["max_distance"] = config_.positive("max_rel_pos");
        }
        if (by_place_) {
            const int64_t buckets = config_.positive("rel_2d_pos_bins");
            table("x_table", "rel_pos_x_bias", buckets, by_order_);
            table("y_table", "rel_pos_y_bias", buckets, by_order_);
            if (by_order_) params["max_box_distance"] = config_.positive("max_rel_2d_pos");
        }
        if (!by_order_ && image_rows_ == 0) return;
        const Tensor found = graph_.layer(name + "bias", "layout_bias",
                                          {{"boxes", boxes}, {"lengths", encoder_.lengths()}}, params, tables);
        if (by_order_) bias_ = found;
        key_mask_ = found + ".key_mask";
    }

    Tensor layer(const std::string &name, const Tensor &x) {
        const std::string self = name + ".attention.self", out = name + ".attention.output";
        const Tensor q = graph_.linear(self + ".query", x, {}), k = graph_.linear(self + ".key", x, {}),
                     v = graph_.linear(self + ".value", x, {});
        const Tensor attended = graph_.attention(name + ".attention.heads", q, k, v,
                                                 {.heads = heads_,
                                                  .kv_heads = heads_,
                                                  .key_lengths = key_mask_.empty() ? encoder_.lengths() : "",
                                                  .key_mask = key_mask_,
                                                  .score_bias = bias_});
        const Tensor tokens = norm(out + ".LayerNorm", graph_.linear(out + ".dense", attended, {.residual = x}), eps_);
        const Tensor fed = graph_.feed_forward(name, tokens,
                                               {.hidden = config_.positive("intermediate_size"),
                                                .activation = config_.activation("hidden_act"),
                                                .up = "intermediate.dense",
                                                .down = "output.dense",
                                                .residual = tokens});
        return norm(name + ".output.LayerNorm", fed, eps_);
    }

    // Heads see the rows of words alone.
    void add_outputs(const Tensor &x) {
        Tensor words = x;
        if (image_rows_ != 0) {
            words = graph_.layer(prefix_ + "words", "cut", {{"x", x}}, {{"count", image_rows_}});
            graph_.output("image_hidden", words + ".last");
        }
        if (!draft_.task) draft_.task = task_of_weights();
        EncoderGraph::Heads heads{.dense = "classifier.dense", .out = "classifier.out_proj"};
        constexpr int64_t many_labels = 10; // from so many on, classes of tokens have a layer before them
        const std::string module = draft_.task == Task::answers ? "qa_outputs" : "classifier";
        if (draft_.task == Task::answers || (draft_.task == Task::tokens && label_count(config_) >= many_labels)) {
            heads.transform = [this, module](const Tensor &rows) {
                return graph_.activated("tanh", graph_.linear(module + ".dense", rows, {}));
            };
            heads.tokens = heads.answers = module + ".out_proj";
        }
        encoder_.add_outputs(words, heads);
    }
    [[nodiscard]] Task task_of_weights() const {
        const auto has = [&](const char *tensor) { return draft_.weights.entries().contains(tensor); };
        if (has("qa_outputs.out_proj.weight")) return Task::answers;
        if (has("classifier.weight")) return Task::tokens;
        if (has("classifier.out_proj.weight"))
            config_.fail("architectures",
                         "is missing: expected the class that the model is of, since classes of tokens "
                         "and of whole pages have the same weights");
        return Task::none;
    }
};

} // namespace

namespace families {

std::span<const Architecture> layoutlmv3() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"layoutlmv3", [](Draft &draft) { LayoutLmV3(draft).build(); }, {}, base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
