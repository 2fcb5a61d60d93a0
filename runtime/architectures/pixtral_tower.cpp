#include "architectures/pixtral_tower.hpp"

#include "architectures/any_size.hpp"
#include "architectures/axial_rotary.hpp"
#include "architectures/vision_tower.hpp"
#include "base/utf8.hpp"

#include <optional>
#include <utility>

namespace lamina::architectures {
namespace {

// What processor_config.json says of prompts with images (transformers, processing_pixtral.py).
struct PromptMarks {
    std::optional<int64_t> patch = {}, merge = {}; // none: there is no file
    std::string row_end = "[IMG_BREAK]", last_row_end = "[IMG_END]";
};

PromptMarks marks_of(const std::filesystem::path &folder) {
    PromptMarks out;
    const std::filesystem::path file = folder / "processor_config.json";
    if (folder.empty() || !has_file(file)) return out;
    const JsonText document(text_of(file), file.string());
    const JsonView root = document.root();
    constexpr int64_t most = 4096;
    out.patch = root.has("patch_size") ? root.at("patch_size").integer(1, most) : 16;
    if (root.has("spatial_merge_size")) out.merge = root.at("spatial_merge_size").integer(1, most);
    for (const auto &[key, to] : {std::pair{"image_break_token", &out.row_end}, {"image_end_token", &out.last_row_end}})
        if (root.has(key)) *to = root.at(key).string();
    return out;
}

int64_t side_of_patches(const Config &config) {
    const Sides sides = sides_of(config, "patch_size");
    constexpr int64_t longest = 256;
    if (sides.height != sides.width || sides.height > longest)
        config.fail("patch_size", "expected square patches of at most " + std::to_string(longest) + " pixels a side");
    return sides.height;
}

} // namespace

bool PixtralTower::is_in(const Config &whole, bool otherwise) {
    const auto part = whole.object(part_key);
    if (part && part->is_null("model_type")) part->fail("model_type", "null is no type of a model");
    return part && part->text("model_type", otherwise ? model_type : "") == model_type;
}

PixtralTower::PixtralTower(Draft &draft, const Config &whole, int64_t merge)
    : draft_(draft), whole_(whole), config_(whole.part(part_key, model_type)), graph_(draft.graph("encode_image")),
      merge_(merge), patch_(side_of_patches(config_)), width_(config_.positive("hidden_size")),
      heads_(config_.positive("num_attention_heads")), hidden_(config_.positive("intermediate_size")),
      activation_(config_.activation("hidden_act")) {
    if (merge_ > 16) whole.fail("spatial_merge_size", "expected at most 16"); // convolutions have its square
    if (width_ % heads_ != 0 || width_ / heads_ % 4 != 0)
        config_.fail("num_attention_heads", "expected heads of a multiple of 4 channels, found " +
                                                std::to_string(width_) + " channels in " + std::to_string(heads_) +
                                                " heads");
    config_.expect("num_channels", 3.0);
    whole.ignore({part_key});
    read_input();
}

void PixtralTower::read_input() const {
    const PromptMarks processor = marks_of(draft_.folder);
    if (processor.patch.value_or(patch_) != patch_)
        config_.fail("patch_size", "expected " + std::to_string(*processor.patch) +
                                       ", as the model's processor has it (processor_config.json), found " +
                                       std::to_string(patch_));
    if (processor.merge.value_or(merge_) != merge_)
        config_.fail("patch_size", "squares of " + std::to_string(merge_) +
                                       " patches a side become one token, but for the model's processor these are " +
                                       std::to_string(*processor.merge) +
                                       ": see \"spatial_merge_size\" of processor_config.json");
    auto preparation = read_preparation(draft_, model_type).value();
    if (preparation.longest == 0)
        config_.fail("patch_size", "the model's preprocessor prepares other images; expected that of Pixtral");
    const int64_t multiple = patch_ * merge_, longest = preparation.longest,
                  side = (longest + multiple - 1) / multiple * multiple;
    constexpr int64_t most = 4096;
    if (side > most)
        config_.fail("patch_size", "images of up to " + std::to_string(side) +
                                       " pixels a side, by \"longest_edge\" of "
                                       "the model's preprocessor; expected at most " +
                                       std::to_string(most));
    preparation.steps["resize"]["multiple"] = multiple;
    Json place = image_place(draft_, whole_, "image_token_index");
    for (const auto &[key, token] : {std::pair{"row_end", processor.row_end}, {"last_row_end", processor.last_row_end}})
        if (draft_.texts && draft_.texts->tokenizer) {
            const auto id = draft_.texts->tokenizer->id(token);
            if (!id)
                whole_.fail("image_token_index", "the tokenizer has no token " + in_quotes(token) +
                                                     ", which follows rows of an image's tokens");
            place[key] = *id;
        }
    add_any_size_inputs(draft_, patch_, merge_, std::move(preparation.steps), std::move(place));
}

// A convolution whose steps are as wide as it is.
GraphWriter::Tensor PixtralTower::embedded() const {
    const std::string module = std::string(prefix) + "patch_conv", kernel = module + ".weight",
                      matrix = module + ".matrix";
    graph_.require(kernel, {width_, 3, patch_, patch_});
    draft_.weights.add(matrix, draft_.weights.at(kernel).shaped({width_, 3 * patch_ * patch_}));
    draft_.unused.insert(kernel);
    const GraphWriter::Tensor x =
        graph_.linear(module, "patches", {.outputs = width_, .biased = false, .weight = matrix});
    return graph_.rms_norm(std::string(prefix) + "ln_pre", x, {.eps = eps});
}

std::string PixtralTower::module_of(int64_t layer) {
    return std::string(prefix) + "transformer.layers." + std::to_string(layer);
}

GraphWriter::Tensor PixtralTower::layer(int64_t number, const GraphWriter::Tensor &x, const RotaryLayer &rotary) const {
    const std::string name = module_of(number), module = name + ".attention";
    const GraphWriter::Tensor normed = graph_.rms_norm(name + ".attention_norm", x, {.eps = eps});
    const auto product = [&](const char *part) {
        return graph_.linear(module + part, normed, {.outputs = width_, .biased = false});
    };
    const GraphWriter::Tensor q = rotary(graph_, module + ".q_rotary", product(".q_proj"), heads_, ""),
                              k = rotary(graph_, module + ".k_rotary", product(".k_proj"), heads_, ""),
                              attended =
                                  graph_.attention(module + ".heads", q, k, product(".v_proj"),
                                                   {.heads = heads_, .kv_heads = heads_, .key_lengths = patch_lengths}),
                              added = graph_.linear(module + ".o_proj", attended,
                                                    {.outputs = width_, .residual = x, .biased = false});
    return graph_.feed_forward(
        name + ".feed_forward", graph_.rms_norm(name + ".ffn_norm", added, {.eps = eps}),
        {.hidden = hidden_, .activation = activation_, .gate = "gate_proj", .residual = added, .biased = false});
}

void PixtralTower::require_layer(int64_t number) const {
    const std::string name = module_of(number);
    for (const char *norm : {".attention_norm.weight", ".ffn_norm.weight"}) graph_.require(name + norm, {width_});
    for (const char *part : {"q", "k", "v", "o"})
        graph_.require(name + ".attention." + part + "_proj.weight", {width_, width_});
    for (const char *part : {"gate", "up"})
        graph_.require(name + ".feed_forward." + part + "_proj.weight", {hidden_, width_});
    graph_.require(name + ".feed_forward.down_proj.weight", {width_, hidden_});
}

std::vector<GraphWriter::Tensor> PixtralTower::states(const std::vector<int64_t> &wanted, const char *key) const {
    // GGUF files have rotary pairs side by side.
    const RotaryLayer rotary(draft_, std::string(prefix) + "rotary.frequencies",
                             axial_rotary(config_, width_ / heads_, true), draft_.gguf);
    const int64_t layers = config_.layers("num_hidden_layers");
    if (layers == 0) config_.fail("num_hidden_layers", "expected at least 1"); // transformers keeps no state then
    std::vector<GraphWriter::Tensor> all{embedded()};
    std::vector<GraphWriter::Tensor> out =
        wanted_states(whole_, key, wanted, layers, all,
                      [&](int64_t number, const GraphWriter::Tensor &x) { return layer(number, x, rotary); });
    for (int64_t i = std::ssize(all) - 1; i < layers; ++i) require_layer(i); // in the file, as transformers has them
    return out;
}

void PixtralTower::add_rows(const GraphWriter::Tensor &x) const {
    graph_.output(draft_.images->output, x);
    config_.finish();
}

} // namespace lamina::architectures
