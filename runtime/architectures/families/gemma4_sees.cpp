// Gemma 4 with images (Google, huggingface.co/google/gemma-4-E2B-it): a vision transformer for patches of any number of
// rows and columns, each of which has a learned and a rotary position on both axes. What it makes of a square of
// patches is averaged and becomes one token of the decoder.
#include "architectures/any_size.hpp"
#include "architectures/architecture.hpp"
#include "architectures/axial_rotary.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/squares.hpp"
#include "architectures/vision_tower.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// The rows of a matrix, or the values of a vector, in another order within each head. A file has the channels that turn
// with columns before those that turn with rows, and pairs are halves of each. Here pairs are halves of a head, those
// of rows first.
model::Weight with_axes_in_turn(const model::Weight &weight, int64_t heads) {
    const int64_t quarter = weight.type.shape.front() / heads / 4;
    std::vector<model::Weight> parts;
    for (int64_t head = 0; head < heads; ++head)
        for (const int64_t from : {2, 0, 3, 1})
            parts.push_back(weight.rows((4 * head + from) * quarter, (4 * head + from + 1) * quarter));
    return model::Weight::stacked(parts).shaped(weight.type.shape);
}

// The graph "encode_image".
class Gemma4Tower {
  public:
    Gemma4Tower(Draft &draft, const Config &whole)
        : draft_(draft), whole_(whole), config_(whole.part(key_of_part, "gemma4_vision")),
          graph_(draft.graph("encode_image")), width_(config_.positive("hidden_size")),
          hidden_(config_.positive("intermediate_size")), heads_(config_.positive("num_attention_heads")),
          kv_heads_(config_.positive("num_key_value_heads")), head_dim_(config_.positive("head_dim")),
          side_(config_.positive("pooling_kernel_size")), eps_(config_.real("rms_norm_eps")),
          clipped_(config_.flag("use_clipped_linears")), activation_(config_.activation("hidden_activation")) {
        if (head_dim_ % 4 != 0)
            config_.fail("head_dim", "expected a multiple of 4, found " + std::to_string(head_dim_));
        if (heads_ % kv_heads_ != 0)
            config_.fail("num_attention_heads",
                         "expected a multiple of the key and value heads, " + std::to_string(kv_heads_));
        if (side_ < 2 || side_ > 16) // transformers takes the padding for the tokens of squares of one patch
            config_.fail("pooling_kernel_size", "expected 2 to 16, found " + std::to_string(side_));
        whole.ignore({key_of_part});
        config_.ignore({"attention_bias", "max_position_embeddings"}); // of texts
    }

    void build() {
        read_input();
        const RotaryLayer rotary(draft_, std::string(prefix) + "rotary.frequencies",
                                 axial_rotary(config_, head_dim_, false), false);
        Tensor x = embedded();
        for (int64_t i = 0; i < config_.layers("num_hidden_layers"); ++i) {
            const std::string layer = std::string(prefix) + "encoder.layers." + std::to_string(i);
            x = norm(layer + ".post_attention_layernorm",
                     attention(layer + ".self_attn", norm(layer + ".input_layernorm", x), rotary), x);
            x = norm(layer + ".post_feedforward_layernorm",
                     fed(layer + ".mlp", norm(layer + ".pre_feedforward_layernorm", x)), x);
        }
        x = plain_norm("embed_vision.embedding_pre_projection_norm", pooled(x), 1);
        x = graph_.linear("embed_vision.embedding_projection", x,
                          {.outputs = draft_.config.positive("hidden_size"), .biased = false});
        graph_.output(draft_.images->output, x);
        config_.finish();
    }

  private:
    static constexpr const char *key_of_part = "vision_config", *prefix = "vision_tower.";
    static constexpr const char *patch_rows = "patch_rows", *patch_columns = "patch_columns";

    Draft &draft_;
    Config whole_, config_;
    GraphWriter &graph_;
    int64_t width_, hidden_, heads_, kv_heads_, head_dim_, side_;
    double eps_;
    bool clipped_;
    std::string activation_;
    int64_t patch_ = 0;
    std::map<std::tuple<Tensor, float, float>, Tensor> within_; // what clipped() has made

    void read_input() {
        patch_ = config_.positive("patch_size");
        auto preparation = read_preparation(draft_, "gemma4").value();
        if (preparation.patch == 0 || preparation.frames != 0)
            config_.fail("patch_size", "the model's preprocessor prepares other images; expected that of Gemma 4");
        for (const auto &[key, own, given] : {std::tuple("patch_size", patch_, preparation.patch),
                                              std::tuple("pooling_kernel_size", side_, preparation.merge)})
            if (own != given)
                config_.fail(key, "expected " + std::to_string(given) + ", as the model's preprocessor has it, found " +
                                      std::to_string(own));
        add_any_size_inputs(draft_, patch_, side_, std::move(preparation.steps), place());
        draft_.images->any_size["rows"] = patch_rows, draft_.images->any_size["columns"] = patch_columns;
        graph_.input(patch_rows, DType::i32, "B N");
        graph_.input(patch_columns, DType::i32, "B N");
        const auto both = draft_.config.find("use_bidirectional_attention");
        draft_.images->see_each_other = both && both->string() == "vision";
    }

    // As Gemma4Processor writes an image. The decoder is given padding in its place, whose embeddings of layers count.
    [[nodiscard]] Json place() const {
        const char *const image = "image_token_id", *const padding = "pad_token_id";
        if (!draft_.config.find(padding)) draft_.config.fail(padding, "expected a token, which stands for images");
        const std::string mark = token_text(draft_, whole_, image);
        return {
            {"token", whole_.integer(image)},
            {"given", draft_.config.integer(padding)},
            {"mark", mark},
            {"text", token_text(draft_, whole_, "boi_token_id") + mark + token_text(draft_, whole_, "eoi_token_id")}};
    }

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x, const Tensor &residual = {}) const {
        return graph_.rms_norm(module, x, {.eps = eps_, .residual = residual});
    }
    // Without a weight.
    [[nodiscard]] Tensor plain_norm(const std::string &name, const Tensor &x, int64_t groups) const {
        Json params{{"eps", eps_}};
        if (groups != 1) params["groups"] = groups;
        return graph_.layer(name, "rms_norm", {{"x", x}}, params);
    }

    // A file has the colours of each pixel side by side. Positions are those of the column and of the row.
    [[nodiscard]] Tensor embedded() const {
        const std::string embedder = std::string(prefix) + "patch_embedder.", module = embedder + "input_proj",
                          weight = module + ".weight", matrix = module + ".matrix",
                          table = embedder + "position_embedding_table";
        const int64_t pixels = patch_ * patch_, positions = config_.positive("position_embedding_size");
        graph_.require(weight, {width_, pixels * 3});
        draft_.weights.add(
            matrix,
            transposed_stack(draft_.weights.at(weight).shaped({width_, pixels, 3}), 0, 1).shaped({width_, 3 * pixels}));
        draft_.unused.insert(weight);
        graph_.require(table, {2, positions, width_});
        draft_.unused.insert(table);
        Tensor x = graph_.linear(module, "patches", {.outputs = width_, .biased = false, .weight = matrix});
        for (const auto &[axis, ids] : {std::pair{0, patch_columns}, {1, patch_rows}}) {
            const std::string name = embedder + ids;
            draft_.weights.add(name + ".weight", draft_.weights.at(table).entry(axis));
            x = graph_.embedding(name, ids, {.rows = positions, .channels = width_, .residual = x});
        }
        return x;
    }

    // The single value of a tensor.
    [[nodiscard]] float number(const std::string &tensor) const {
        graph_.require(tensor, {});
        draft_.unused.insert(tensor);
        return numbers_of(draft_.weights.at(tensor)).front();
    }

    // Within the numbers MODULE.input_min and .input_max, or those of the output, if the model has them.
    [[nodiscard]] Tensor clipped(const std::string &module, const std::string &end, const Tensor &x) {
        if (!clipped_) return x;
        constexpr float greatest = 1e15F; // which no product reaches; files may have infinity
        const std::string least = module + "." + end + "_min", most = module + "." + end + "_max";
        const float low = std::max(number(least), -greatest), high = std::min(number(most), greatest);
        if (!(low <= high))
            throw Error(ErrorCode::input, draft_.weights.file().string() + ": the tensor '" + least + "' is " +
                                              std::to_string(low) + ": expected a number of at most " +
                                              std::to_string(high) + ", as '" + most + "' has it");
        if (low == -greatest && high == greatest) return x;
        Tensor &out = within_[{x, low, high}];
        if (out.empty())
            out = graph_.layer(module + "." + end, "activation", {{"x", x}},
                               {{"activation", "clamp"}, {"low", low}, {"high", high}});
        return out;
    }

    [[nodiscard]] Tensor product(const std::string &module, const Tensor &x, int64_t outputs) {
        return clipped(
            module, "output",
            graph_.linear(module + ".linear", clipped(module, "input", x), {.outputs = outputs, .biased = false}));
    }

    // Queries or keys: MODULE_proj, then MODULE_norm, then their positions.
    [[nodiscard]] Tensor turned(const std::string &module, const Tensor &x, int64_t heads, const RotaryLayer &rotary) {
        const std::string projection = module + "_proj", weight = projection + ".linear.weight",
                          factors = module + "_norm.weight", in_turn = module + "_axes", normed = in_turn + ".norm";
        graph_.require(weight, {heads * head_dim_, width_});
        graph_.require(factors, {head_dim_});
        draft_.weights.add(in_turn + ".weight", with_axes_in_turn(draft_.weights.at(weight), heads));
        draft_.weights.add(normed + ".weight", with_axes_in_turn(draft_.weights.at(factors), 1));
        draft_.unused.insert(weight);
        draft_.unused.insert(factors);
        Tensor out =
            graph_.linear(in_turn, clipped(projection, "input", x), {.outputs = heads * head_dim_, .biased = false});
        out = graph_.rms_norm(normed, clipped(projection, "output", out), {.eps = eps_, .groups = heads});
        return rotary(graph_, in_turn + ".rotary", out, heads, "");
    }

    [[nodiscard]] Tensor attention(const std::string &module, const Tensor &x, const RotaryLayer &rotary) {
        const Tensor q = turned(module + ".q", x, heads_, rotary), k = turned(module + ".k", x, kv_heads_, rotary),
                     v = plain_norm(module + ".v_norm", product(module + ".v_proj", x, kv_heads_ * head_dim_),
                                    kv_heads_);
        const Tensor attended =
            graph_.attention(module + ".heads", q, k, v,
                             {.heads = heads_, .kv_heads = kv_heads_, .scale = 1, .key_lengths = patch_lengths});
        return product(module + ".o_proj", attended, width_);
    }

    [[nodiscard]] Tensor fed(const std::string &module, const Tensor &x) {
        const Tensor gate = product(module + ".gate_proj", x, hidden_), up = product(module + ".up_proj", x, hidden_),
                     open = graph_.layer(module + ".gated", "activation", {{"x", gate}, {"times", up}},
                                         {{"activation", activation_}});
        return product(module + ".down_proj", open, width_);
    }

    // The mean of each square, times the root of the channels; of which a model may take a bias, and scale the rest.
    [[nodiscard]] Tensor pooled(const Tensor &x) const {
        std::vector<float> factors(static_cast<size_t>(width_), static_cast<float>(std::sqrt(width_))), summands;
        if (config_.flag("standardize")) {
            const auto values = [&](const char *name) {
                const std::string tensor = std::string(prefix) + name;
                graph_.require(tensor, {width_});
                draft_.unused.insert(tensor);
                return numbers_of(draft_.weights.at(tensor));
            };
            const std::vector<float> scale = values("std_scale");
            summands = values("std_bias");
            for (size_t c = 0; c < factors.size(); ++c) factors[c] *= scale[c], summands[c] *= -scale[c];
        }
        return averaged(draft_, graph_, std::string(prefix) + "pooler", x, side_ * side_, factors, summands);
    }
};

void see(Draft &draft, const Config &whole) {
    if (!continues_texts(draft) || !whole.object("vision_config")) return; // others read texts alone
    Gemma4Tower(draft, whole).build();
    // Of sound and videos, which are not read, and of the part for texts.
    whole.ignore({"audio_config", "audio_token_id", "quantization_config", "video_token_id"});
    whole.finish();
}

} // namespace

namespace families {

std::span<const Architecture> gemma4_sees() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "gemma4",
                                                         .build = nullptr,
                                                         .of_texts = "gemma4_text",
                                                         .see = see,
                                                         .tied = Architecture::Tied::by_whole}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
