// What Qwen2-VL (Wang et al., arXiv:2409.12191), Qwen2.5-VL (Bai et al., arXiv:2502.13923), Qwen3-VL (Bai et al.,
// arXiv:2511.21631), Qwen3.5 and 3.6 make of images: a vision transformer for any number of patches, which have rotary
// positions in rows and columns. Squares of patches become words. llama.cpp and qwen3_next.cpp have the part for texts.
#include "architectures/any_size.hpp"
#include "architectures/architecture.hpp"
#include "architectures/axial_rotary.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/squares.hpp"
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

// What the releases differ in.
struct Release {
    const char *type;                // of "vision_config"
    const char *width, *outputs;     // keys of channels
    bool windowed = false;           // attention within windows, and norms by the root mean square
    bool learned = false;            // there are learned positions, too, and patches have a bias
    const char *up, *down, *gate;    // modules of feed-forwards
    const char *norm, *first, *last; // and of mergers
};
constexpr Release qwen2{.type = "qwen2_vl_vision",
                        .width = "embed_dim",
                        .outputs = "hidden_size",
                        .up = "fc1",
                        .down = "fc2",
                        .gate = "",
                        .norm = "ln_q",
                        .first = "mlp.0",
                        .last = "mlp.2"};
constexpr Release qwen2_5{.type = "qwen2_5_vl_vision",
                          .width = "hidden_size",
                          .outputs = "out_hidden_size",
                          .windowed = true,
                          .up = "up_proj",
                          .down = "down_proj",
                          .gate = "gate_proj",
                          .norm = "ln_q",
                          .first = "mlp.0",
                          .last = "mlp.2"};
constexpr Release qwen3{.type = "qwen3_vl_vision",
                        .width = "hidden_size",
                        .outputs = "out_hidden_size",
                        .learned = true,
                        .up = "linear_fc1",
                        .down = "linear_fc2",
                        .gate = "",
                        .norm = "norm",
                        .first = "linear_fc1",
                        .last = "linear_fc2"};
constexpr Release like_qwen3(const char *type) {
    Release out = qwen3;
    out.type = type;
    return out;
}
constexpr Release qwen3_moe = like_qwen3("qwen3_vl_moe_vision"), qwen3_5 = like_qwen3("qwen3_5_vision"),
                  qwen3_5_moe = like_qwen3("qwen3_5_moe_vision");

// The graph "encode_image".
class QwenTower {
  public:
    QwenTower(Draft &draft, const Config &whole, const Release &release)
        : draft_(draft), release_(release), config_(whole.part("vision_config", release.type)),
          graph_(draft.graph("encode_image")), width_(config_.positive(release.width)),
          heads_(config_.positive("num_heads")), merge_(config_.positive("spatial_merge_size")),
          outputs_(config_.positive(release.outputs)),
          hidden_(config_.reads("mlp_ratio") ? width_ * config_.positive("mlp_ratio")
                                             : config_.positive("intermediate_size")),
          activation_(config_.activation("hidden_act")) {}

    void build(Json place) {
        read_input(std::move(place));
        Tensor x = embedded();
        if (release_.learned) x = with_positions(x);
        const RotaryLayer rotary(draft_, std::string(prefix) + "rotary.frequencies", turns(), false);
        const std::vector<int64_t> deep = deep_layers();
        std::vector<Tensor> shown; // by layers on the way, no more than the decoder has layers that take it
        for (int64_t i = 0; i < config_.layers("depth"); ++i) {
            x = layer(i, x, rotary);
            const auto at = std::ranges::find(deep, i);
            if (at != deep.end() && std::cmp_less(shown.size(), draft_.config.layers("num_hidden_layers")))
                shown.push_back(merged(deep_merger(at - deep.begin()), x, true));
        }
        add_output(merged("merger", x, false), shown);
        config_.ignore({"tokens_per_second"}); // of videos
        config_.finish();
    }

  private:
    static constexpr double eps = 1e-6; // of norms
    static constexpr const char *prefix = "visual.";
    // Further inputs of the graph, as model::AnySize has them.
    static constexpr const char *window_rows = "window_rows", *window_lengths = "window_lengths",
                                *window_places = "window_places", *sizes = "sizes";

    Draft &draft_;
    const Release &release_;
    Config config_;
    GraphWriter &graph_;
    int64_t width_, heads_, merge_, outputs_, hidden_;
    std::string activation_;
    int64_t patch_ = 0, frames_ = 0;
    std::vector<int64_t> full_; // layers without windows

    void read_input(Json place) {
        const Sides patch = sides_of(config_, "patch_size");
        if (patch.height != patch.width) config_.fail("patch_size", "patches that are not square are not supported");
        patch_ = patch.height;
        frames_ = sides_of(config_, "temporal_patch_size").height;
        config_.expect("in_channels", 3.0);
        auto preparation = read_preparation(draft_, "qwen2_vl").value();
        if (preparation.size.height != 0 || preparation.patch == 0)
            config_.fail(
                "patch_size",
                "the model's preprocessor gives all images one size, or limits a side; expected that of Qwen2-VL");
        for (const auto &[key, own, given] : {std::tuple("patch_size", patch_, preparation.patch),
                                              std::tuple("spatial_merge_size", merge_, preparation.merge),
                                              std::tuple("temporal_patch_size", frames_, preparation.frames)})
            if (own != given)
                config_.fail(key, "expected " + std::to_string(given) + ", as the model's preprocessor has it, found " +
                                      std::to_string(own));
        add_any_size_inputs(draft_, patch_, merge_, std::move(preparation.steps), std::move(place));
        if (release_.windowed) read_windows();
        if (!release_.learned) return;
        if (merge_ > 16) config_.fail("spatial_merge_size", "expected at most 16"); // convolutions have its square
        draft_.images->any_size["sizes"] = sizes;
        graph_.input(sizes, DType::i32, "B 2");
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
        return graph_.linear(module, "patches", {.outputs = width_, .biased = release_.learned, .weight = matrix});
    }

    // Those of a square grid, resampled to that of the image.
    [[nodiscard]] Tensor with_positions(const Tensor &x) const {
        const char *const key = "num_position_embeddings";
        const int64_t count = config_.positive(key);
        const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(count)));
        if (side * side != count || side > 256)
            config_.fail(key, "expected the square of a number up to 256, found " + std::to_string(count));
        const std::string module = std::string(prefix) + "pos_embed", weight = module + ".weight",
                          table = module + ".table";
        graph_.require(weight, {count, width_});
        draft_.weights.add(table, draft_.weights.at(weight).shaped({side, side, width_}));
        draft_.unused.insert(weight);
        return graph_.layer(module, "interpolated_positions",
                            {{"x", x}, {"coordinates", patch_coordinates}, {"sizes", sizes}});
    }

    // Whose patches are merged, too, each by a merger of its own, to be added after layers of the decoder.
    [[nodiscard]] std::vector<int64_t> deep_layers() const {
        const char *const key = "deepstack_visual_indexes";
        std::vector<int64_t> out;
        if (!config_.reads(key)) return out;
        for (const double number : config_.reals(key)) {
            require_merger(deep_merger(std::ssize(out)), true);
            out.push_back(std::abs(number) < 1000 ? static_cast<int64_t>(number) : -1);
        }
        return out;
    }

    static std::string deep_merger(int64_t number) { return "deepstack_merger_list." + std::to_string(number); }

    // What stands for words, and beside it what layers on the way have shown.
    void add_output(Tensor words, const std::vector<Tensor> &shown) const {
        for (const Tensor &each : shown) {
            const int64_t channels = graph_.channels(words) + outputs_;
            words = graph_.layer(each + ".beside", "concat", {{"a", words}, {"b", each}});
            graph_.set_channels(words, channels);
        }
        draft_.images->details = std::ssize(shown);
        graph_.output(draft_.images->output, words);
    }

    // Half of the pairs of a head turn with rows, the others with columns.
    [[nodiscard]] Rotary turns() const {
        const int64_t channels = width_ / heads_;
        if (width_ % heads_ != 0 || channels % 4 != 0)
            config_.fail("num_heads", "expected heads of a multiple of 4 channels, found " + std::to_string(width_) +
                                          " channels in " + std::to_string(heads_) + " heads");
        return axial_rotary(config_, channels, false);
    }

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x) const {
        if (release_.windowed) return graph_.rms_norm(module, x, {.eps = eps});
        return graph_.layer_norm(module, x, {.eps = eps});
    }

    [[nodiscard]] Tensor layer(int64_t number, const Tensor &x, const RotaryLayer &rotary) const {
        const std::string name = std::string(prefix) + "blocks." + std::to_string(number);
        const Tensor attended =
            graph_.linear(name + ".attn.proj", attention(number, name + ".attn", norm(name + ".norm1", x), rotary),
                          {.outputs = width_, .residual = x});
        const Tensor normed = norm(name + ".norm2", attended);
        return graph_.feed_forward(name + ".mlp", normed,
                                   {.hidden = hidden_,
                                    .activation = activation_,
                                    .up = release_.up,
                                    .down = release_.down,
                                    .gate = release_.gate,
                                    .residual = attended});
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
        if (!release_.windowed || std::ranges::find(full_, number) != full_.end())
            return graph_.attention(heads, q, k, v,
                                    {.heads = heads_, .kv_heads = heads_, .key_lengths = patch_lengths});
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

    // The rows of each square, which follow each other, side by side: a product of them, then another.
    [[nodiscard]] Tensor merged(const std::string &name, const Tensor &x, bool normed_together) const {
        const std::string merger = prefix + name + ".", first = merger + release_.first, kernel = first + ".kernel";
        const int64_t squared = merge_ * merge_, wide = squared * width_;
        require_merger(name, normed_together);
        const model::Weight matrix = side_by_side(draft_.weights.at(first + ".weight"), squared);
        draft_.unused.insert(first + ".weight");
        Tensor mixed;
        if (normed_together) {
            draft_.weights.add(kernel, matrix);
            const std::string module = merger + release_.norm;
            const Tensor rows = rows_side_by_side(draft_, graph_, module + ".rows", x, squared);
            mixed = graph_.linear(first, norm_side_by_side(draft_, graph_, module, rows, squared, eps),
                                  {.outputs = wide, .weight = kernel});
            mixed = graph_.activated("gelu", mixed);
        } else { // a convolution whose steps are as wide as it is
            draft_.weights.add(kernel, matrix.shaped({wide, width_, squared}));
            mixed = graph_.layer(first, "conv1d", {{"x", norm(merger + release_.norm, x)}},
                                 {{"stride", squared}, {"activation", "gelu"}},
                                 {{"weight", kernel}, {"bias", first + ".bias"}});
            graph_.set_channels(mixed, wide);
        }
        return graph_.linear(merger + release_.last, mixed, {.outputs = outputs_});
    }

    // Also of one that nothing takes.
    void require_merger(const std::string &name, bool normed_together) const {
        const std::string merger = prefix + name + ".";
        const int64_t wide = merge_ * merge_ * width_;
        for (const char *port : {".weight", ".bias"}) {
            if (!release_.windowed || port == std::string_view(".weight"))
                graph_.require(merger + release_.norm + port, {normed_together ? wide : width_});
        }
        graph_.require(merger + release_.first + ".weight", {wide, wide});
        graph_.require(merger + release_.first + ".bias", {wide});
        graph_.require(merger + release_.last + ".weight", {outputs_, wide});
        graph_.require(merger + release_.last + ".bias", {outputs_});
    }
};

// Of a model that was trained to talk; others read texts alone here.
void see(Draft &draft, const Config &whole, const Release &release) {
    if (continues_texts(draft)) QwenTower(draft, whole, release).build(image_place(draft, whole, "image_token_id"));
}

} // namespace

namespace families {

std::span<const Architecture> qwen2_vl() {
    static constexpr std::array<Architecture, 6> kinds{{
        {.model_type = "qwen2_5_vl",
         .build = nullptr,
         .of_texts = "qwen2_5_vl_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen2_5); },
         .flat = true,
         .tied = Architecture::Tied::by_either},
        {.model_type = "qwen2_vl",
         .build = nullptr,
         .of_texts = "qwen2_vl_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen2); },
         .flat = true,
         .tied = Architecture::Tied::by_either},
        {.model_type = "qwen3_5",
         .build = nullptr,
         .of_texts = "qwen3_5_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen3_5); },
         .tied = Architecture::Tied::by_whole},
        {.model_type = "qwen3_5_moe",
         .build = nullptr,
         .of_texts = "qwen3_5_moe_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen3_5_moe); },
         .tied = Architecture::Tied::by_whole},
        {.model_type = "qwen3_vl",
         .build = nullptr,
         .of_texts = "qwen3_vl_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen3); },
         .tied = Architecture::Tied::by_whole},
        {.model_type = "qwen3_vl_moe",
         .build = nullptr,
         .of_texts = "qwen3_vl_moe_text",
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, qwen3_moe); },
         .tied = Architecture::Tied::by_whole},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
