// What Qwen2-VL (Wang et al., arXiv:2409.12191) and Qwen2.5-VL (Bai et al., arXiv:2502.13923) make of images: a vision
// transformer for any number of patches, which have rotary positions in rows and columns. Squares of patches become
// words. llama.cpp has the part for texts.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/rotary.hpp"
#include "architectures/vision_tower.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// The graph "encode_image". `windowed`: that of Qwen2.5-VL, whose norms and feed-forwards differ, too.
class QwenTower {
  public:
    QwenTower(Draft &draft, const Config &whole, bool windowed)
        : draft_(draft), windowed_(windowed),
          config_(whole.part("vision_config", windowed ? "qwen2_5_vl_vision" : "qwen2_vl_vision")),
          graph_(draft.graph("encode_image")), width_(config_.positive(windowed ? "hidden_size" : "embed_dim")),
          heads_(config_.positive("num_heads")), merge_(config_.positive("spatial_merge_size")),
          hidden_(windowed ? config_.positive("intermediate_size") : width_ * config_.positive("mlp_ratio")),
          activation_(config_.activation("hidden_act")) {}

    void build(Json place) {
        read_input(std::move(place));
        Tensor x = embedded();
        const RotaryLayer rotary(draft_, std::string(prefix) + "rotary.frequencies", turns(), false);
        for (int64_t i = 0; i < config_.layers("depth"); ++i) x = layer(i, x, rotary);
        graph_.output(draft_.images->output, merged(x));
        config_.ignore({"tokens_per_second"}); // of videos
        config_.finish();
    }

  private:
    static constexpr double eps = 1e-6; // of norms
    static constexpr const char *prefix = "visual.";
    // The inputs of the graph beside patches, as model::AnySize has them.
    static constexpr const char *coordinates = "coordinates", *lengths = "lengths", *window_rows = "window_rows",
                                *window_lengths = "window_lengths", *window_places = "window_places";

    Draft &draft_;
    bool windowed_;
    Config config_;
    GraphWriter &graph_;
    int64_t width_, heads_, merge_, hidden_;
    std::string activation_;
    int64_t patch_ = 0, frames_ = 0;
    std::vector<int64_t> full_; // layers without windows

    void read_input(Json place) {
        const Sides patch = sides_of(config_, "patch_size");
        if (patch.height != patch.width) config_.fail("patch_size", "patches that are not square are not supported");
        patch_ = patch.height;
        frames_ = sides_of(config_, "temporal_patch_size").height;
        config_.expect("in_channels", 3.0);
        auto preparation = read_preparation(draft_.folder, "qwen2_vl").value();
        if (preparation.size.height != 0)
            config_.fail("patch_size", "the model's preprocessor gives all images one size; expected that of Qwen2-VL");
        for (const auto &[key, own, given] : {std::tuple("patch_size", patch_, preparation.patch),
                                              std::tuple("spatial_merge_size", merge_, preparation.merge),
                                              std::tuple("temporal_patch_size", frames_, preparation.frames)})
            if (own != given)
                config_.fail(key, "expected " + std::to_string(given) + ", as the model's preprocessor has it, found " +
                                      std::to_string(own));
        draft_.images = ImageInput{.patch = patch_,
                                   .merge = merge_,
                                   .steps = std::move(preparation.steps),
                                   .output = "tokens",
                                   .place = std::move(place),
                                   .any_size = {{"coordinates", coordinates}, {"lengths", lengths}}};
        const std::string values = std::to_string(3 * patch_ * patch_);
        graph_.input("patches", DType::f32, "B N " + values, 3 * patch_ * patch_);
        graph_.input(coordinates, DType::i32, "B N 2");
        graph_.input(lengths, DType::i32, "B");
        if (windowed_) read_windows();
    }

    // Their side is rounded down to whole squares.
    void read_windows() {
        const int64_t squares = config_.positive("window_size") / merge_ / patch_, side = squares * merge_;
        if (squares == 0 || side > 256)
            config_.fail("window_size", "expected " + std::to_string(merge_ * patch_) + " to " +
                                            std::to_string(256 * patch_) + " pixels");
        for (const double number : config_.reals("fullatt_block_indexes"))
            if (number >= 0 && number < 1000) full_.push_back(static_cast<int64_t>(number));
        draft_.images->any_size["windows"] =
            Json{{"side", side}, {"rows", window_rows}, {"lengths", window_lengths}, {"places", window_places}};
        graph_.input(window_rows, DType::i32, "W " + std::to_string(side * side));
        graph_.input(window_lengths, DType::i32, "W");
        graph_.input(window_places, DType::i32, "B N");
    }

    // A convolution over frames, which are all the same, whose steps are as wide as it is.
    [[nodiscard]] Tensor embedded() {
        const std::string module = std::string(prefix) + "patch_embed.proj", kernel = module + ".weight",
                          matrix = module + ".matrix";
        graph_.require(kernel, {width_, 3, frames_, patch_, patch_});
        const model::Weight frames = draft_.weights.at(kernel).shaped({width_ * 3, frames_, patch_ * patch_});
        draft_.weights.add(matrix, matrices_summed(frames).shaped({width_, 3 * patch_ * patch_}));
        draft_.unused.insert(kernel);
        return graph_.linear(module, "patches", {.outputs = width_, .biased = false, .weight = matrix});
    }

    // Half of the pairs of a head turn with rows, the others with columns.
    [[nodiscard]] Rotary turns() const {
        const int64_t channels = width_ / heads_;
        if (width_ % heads_ != 0 || channels % 4 != 0)
            config_.fail("num_heads", "expected heads of a multiple of 4 channels, found " + std::to_string(width_) +
                                          " channels in " + std::to_string(heads_) + " heads");
        if (config_.integer("head_dim", channels) != channels)
            config_.fail("head_dim", "expected " + std::to_string(channels) + ", or no such key");
        const double theta = base();
        Rotary out{.coordinates = 2};
        for (int64_t axis = 0; axis < out.coordinates; ++axis)
            for (int64_t i = 0; i < channels / 4; ++i) {
                out.frequencies.push_back(
                    static_cast<float>(std::pow(theta, -4 * static_cast<double>(i) / static_cast<double>(channels))));
                out.axes.push_back(axis);
            }
        return out;
    }

    // Of the frequencies.
    [[nodiscard]] double base() const {
        config_.ignore({"original_max_position_embeddings", "partial_rotary_factor"});
        double theta = config_.real("rope_theta");
        for (const char *key : {"rope_parameters", "rope_scaling"}) { // the second one counts
            const auto object = config_.object(key);
            if (!object || object->view().members().size() == 0) continue;
            const char *type = object->has("rope_type") ? "rope_type" : "type";
            if (object->text(type, "axial") != "axial") object->fail(type, "expected axial");
            theta = object->real("rope_theta", config_.real("rope_theta"));
        }
        if (!(theta > 0)) config_.fail("rope_theta", "expected a number above 0");
        return theta;
    }

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x) const {
        if (windowed_) return graph_.rms_norm(module, x, {.eps = eps});
        return graph_.layer_norm(module, x, {.eps = eps});
    }

    [[nodiscard]] Tensor layer(int64_t number, const Tensor &x, const RotaryLayer &rotary) const {
        const std::string name = std::string(prefix) + "blocks." + std::to_string(number);
        const Tensor attended =
            graph_.linear(name + ".attn.proj", attention(number, name + ".attn", norm(name + ".norm1", x), rotary),
                          {.outputs = width_, .residual = x});
        const Tensor normed = norm(name + ".norm2", attended);
        GraphWriter::FeedForward options{.hidden = hidden_, .activation = activation_, .up = "fc1", .down = "fc2"};
        if (windowed_) options.up = "up_proj", options.down = "down_proj", options.gate = "gate_proj";
        options.residual = attended;
        return graph_.feed_forward(name + ".mlp", normed, options);
    }

    // To all patches of the image, or to those of the same window.
    [[nodiscard]] Tensor attention(int64_t number, const std::string &module, const Tensor &x,
                                   const RotaryLayer &rotary) const {
        const std::string fused = module + ".qkv", query = module + ".q", key = module + ".k", value = module + ".v";
        split(draft_, graph_, fused,
              {.inputs = width_, .parts = {{query, width_}, {key, width_}, {value, width_}}, .biased = true});
        const auto product = [&](const std::string &part) { return graph_.linear(part, x, {.outputs = width_}); };
        Tensor q = rotary(graph_, query + "_rotary", product(query), heads_, ""),
               k = rotary(graph_, key + "_rotary", product(key), heads_, ""), v = product(value);
        const std::string heads = module + ".heads";
        if (!windowed_ || std::ranges::find(full_, number) != full_.end())
            return graph_.attention(heads, q, k, v, {.heads = heads_, .kv_heads = heads_, .key_lengths = lengths});
        const auto gathered = [&](const std::string &name, const Tensor &rows, const char *numbers) {
            return graph_.layer(name, "gather", {{"x", rows}, {"rows", numbers}});
        };
        q = gathered(query + "_windows", q, window_rows);
        k = gathered(key + "_windows", k, window_rows);
        v = gathered(value + "_windows", v, window_rows);
        return gathered(
            module + ".places",
            graph_.attention(heads, q, k, v, {.heads = heads_, .kv_heads = heads_, .key_lengths = window_lengths}),
            window_places);
    }

    // A product of the rows of each square side by side, which follow each other: a convolution whose steps are as wide
    // as it is.
    [[nodiscard]] Tensor merged(const Tensor &x) {
        const std::string merger = std::string(prefix) + "merger.", first = merger + "mlp.0", last = merger + "mlp.2",
                          kernel = first + ".kernel";
        const int64_t side_by_side = merge_ * merge_, wide = side_by_side * width_;
        const Tensor normed = norm(merger + "ln_q", x);
        graph_.require(first + ".weight", {wide, wide});
        graph_.require(first + ".bias", {wide});
        draft_.weights.add(
            kernel, transposed_stack(draft_.weights.at(first + ".weight").shaped({wide, side_by_side, width_}), 0, 1));
        draft_.unused.insert(first + ".weight");
        const Tensor mixed =
            graph_.layer(first, "conv1d", {{"x", normed}}, {{"stride", side_by_side}, {"activation", "gelu"}},
                         {{"weight", kernel}, {"bias", first + ".bias"}});
        graph_.set_channels(mixed, wide);
        return graph_.linear(last, mixed, {.outputs = config_.positive(windowed_ ? "out_hidden_size" : "hidden_size")});
    }
};

// Of a model that was trained to talk; others read texts alone here.
void see(Draft &draft, const Config &whole, bool windowed) {
    if (continues_texts(draft)) QwenTower(draft, whole, windowed).build(image_place(draft, whole, "image_token_id"));
}

} // namespace

namespace families {

std::span<const Architecture> qwen2_vl() {
    static constexpr std::array<Architecture, 2> kinds{{
        {.model_type = "qwen2_5_vl",
         .build = nullptr,
         .of_texts = "qwen2_5_vl_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, true); },
         .flat = true,
         .tied = Architecture::Tied::by_either},
        {.model_type = "qwen2_vl",
         .build = nullptr,
         .of_texts = "qwen2_vl_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, false); },
         .flat = true,
         .tied = Architecture::Tied::by_either},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
