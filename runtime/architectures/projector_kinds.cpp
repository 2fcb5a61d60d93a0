#include "architectures/projector_kinds.hpp"

#include "architectures/gemma4_projector.hpp"
#include "architectures/internvl_projector.hpp"
#include "architectures/joined.hpp"
#include "architectures/weight_parts.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

// ---- The vision transformers of CLIP and SigLIP ----

constexpr std::array<TensorName, 12> clip_tower{{
    {"v.patch_embd", "embeddings.patch_embedding"},
    {"v.position_embd", "embeddings.position_embedding"},
    {"v.pre_ln", "pre_layrnorm"},
    {"v.post_ln", "post_layernorm"},
    {"v.blk.{i}.ln1", "encoder.layers.{i}.layer_norm1"},
    {"v.blk.{i}.ln2", "encoder.layers.{i}.layer_norm2"},
    {"v.blk.{i}.attn_q", "encoder.layers.{i}.self_attn.q_proj"},
    {"v.blk.{i}.attn_k", "encoder.layers.{i}.self_attn.k_proj"},
    {"v.blk.{i}.attn_v", "encoder.layers.{i}.self_attn.v_proj"},
    {"v.blk.{i}.attn_out", "encoder.layers.{i}.self_attn.out_proj"},
    {"v.blk.{i}.ffn_up", "encoder.layers.{i}.mlp.fc1"},
    {"v.blk.{i}.ffn_down", "encoder.layers.{i}.mlp.fc2"},
}};
constexpr std::string_view tanh_gelu = "gelu_pytorch_tanh";

Json square(int64_t side) { return Json{{"height", side}, {"width", side}}; }

// ---- Gemma 3 ----

constexpr std::array<TensorName, 2> gemma3_tensors{{
    {"mm.input_projection.weight", "multi_modal_projector.mm_input_projection_weight"},
    {"mm.soft_emb_norm", "multi_modal_projector.mm_soft_emb_norm"},
}};
constexpr std::array<SettingName, 1> gemma3_settings{{{"projector.scale_factor", "mm_tokens_per_image"}}};

void complete_gemma3(const ProjectorFile &file, ProjectorFolder &out) {
    const char *const key = "projector.scale_factor";
    const int64_t side = file.positive("image_size"), patches = side / file.positive("patch_size"),
                  merged = file.positive(key, 4), rows = patches / merged;
    if (rows * merged != patches || rows == 0)
        file.refuse("an image has " + std::to_string(patches) + " x " + std::to_string(patches) +
                    " patches, and squares of " + std::to_string(merged) + " x " + std::to_string(merged) +
                    " become one token: see " + in_quotes(std::string("clip.vision.") + key));
    out.config["mm_tokens_per_image"] = rows * rows;
    out.config["vision_config"]["vision_use_head"] = false;
    // Some vocabularies lack the token that images have; then one that no text has stands for it.
    out.config["image_token_index"] = file.token({"<image_soft_token>", "<unused0>"});
    out.config["boi_token_index"] = file.token({"<start_of_image>"});
    out.config["eoi_token_index"] = file.token({"<end_of_image>"});
    out.preprocessor["image_processor_type"] = "Gemma3ImageProcessor";
    out.preprocessor["size"] = square(side);
    const std::string norm = "multi_modal_projector.mm_soft_emb_norm.weight"; // a folder stores it minus 1
    model::Weight stored = shifted(out.weights.at(norm), -1);
    out.weights.remove(norm);
    out.weights.add(norm, std::move(stored));
}

// ---- Idefics3 and SmolVLM ----

constexpr std::array<TensorName, 1> idefics3_tensors{{{"mm.model.fc", "connector.modality_projection.proj"}}};
constexpr std::array<SettingName, 2> idefics3_settings{{
    {"preproc_image_size", "size/longest_edge"},
    {"projector.scale_factor", "scale_factor"},
}};

void complete_idefics3(const ProjectorFile &file, ProjectorFolder &out) {
    constexpr int64_t tiles = 4; // in a row, of published models; files of before June 2025 do not say it
    const int64_t side = file.positive("image_size");
    (void)file.positive("projector.scale_factor");
    out.config["image_token_id"] = file.token({"<image>"});
    out.preprocessor["image_processor_type"] = "Idefics3ImageProcessor";
    out.preprocessor["size"] = Json{{"longest_edge", file.positive("preproc_image_size", tiles * side)}};
    out.preprocessor["max_image_size"] = Json{{"longest_edge", side}};
}

// ---- LLaVA ----

constexpr std::array<TensorName, 3> llava_tensors{{
    {"v.class_embd", "vision_tower.embeddings.class_embedding"},
    {"mm.0", "multi_modal_projector.linear_1"},
    {"mm.2", "multi_modal_projector.linear_2"},
}};
constexpr std::array<SettingName, 1> llava_settings{{{"feature_layer", "vision_feature_layer"}}};

void complete_llava(const ProjectorFile &file, ProjectorFolder &out) {
    const int64_t side = file.positive("image_size");
    if (file.find("feature_layer") == nullptr) out.config["vision_feature_layer"] = -1; // files end with it
    out.config["image_token_index"] = file.token({"<image>"});
    out.preprocessor["image_processor_type"] = "CLIPImageProcessor";
    out.preprocessor["size"] = Json{{"shortest_edge", side}};
    out.preprocessor["crop_size"] = square(side);
}

// ---- Mistral 3 and Pixtral 12B ----

constexpr std::array<TensorName, 11> pixtral_tower{{
    {"v.patch_embd", "patch_conv"},
    {"v.pre_ln", "ln_pre"},
    {"v.blk.{i}.ln1", "transformer.layers.{i}.attention_norm"},
    {"v.blk.{i}.ln2", "transformer.layers.{i}.ffn_norm"},
    {"v.blk.{i}.attn_q", "transformer.layers.{i}.attention.q_proj"},
    {"v.blk.{i}.attn_k", "transformer.layers.{i}.attention.k_proj"},
    {"v.blk.{i}.attn_v", "transformer.layers.{i}.attention.v_proj"},
    {"v.blk.{i}.attn_out", "transformer.layers.{i}.attention.o_proj"},
    {"v.blk.{i}.ffn_gate", "transformer.layers.{i}.feed_forward.gate_proj"},
    {"v.blk.{i}.ffn_up", "transformer.layers.{i}.feed_forward.up_proj"},
    {"v.blk.{i}.ffn_down", "transformer.layers.{i}.feed_forward.down_proj"},
}};
constexpr std::array<TensorName, 4> pixtral_tensors{{
    {"mm.1", "multi_modal_projector.linear_1"},
    {"mm.2", "multi_modal_projector.linear_2"},
    {"mm.input_norm", "multi_modal_projector.norm"},
    {"mm.patch_merger", "multi_modal_projector.patch_merger.merging_layer"},
}};
constexpr std::array<SettingName, 1> pixtral_settings{{{"spatial_merge_size", "spatial_merge_size"}}};

// Throws unless the file has this epsilon of norms, which all models of a kind have.
void expect_eps(const ProjectorFile &file, double eps, const char *name) {
    const model::GgufValue &found = file.at("attention.layer_norm_epsilon");
    if (std::abs(found.number() - eps) > eps / 1000)
        found.fail("expected " + std::string(name) + ", as these models have it");
}

void complete_pixtral(const ProjectorFile &file, ProjectorFolder &out) {
    expect_eps(file, 1e-5, "1e-5");
    constexpr const char *base = "clip.rope.freq_base"; // the tower's default, which other files leave out
    if (file.metadata().has(base) && file.metadata().at(base).number() != 10000)
        file.metadata().at(base).fail("expected 10000");
    const auto has = [&](const char *tensor) { return file.weights().entries().contains(tensor); };
    out.config["multimodal_projector_bias"] = has("mm.1.bias");
    out.config["spatial_merge_size"] = file.positive("spatial_merge_size", 1);
    if (!has("mm.patch_merger.weight")) { // Pixtral 12B
        if (file.positive("spatial_merge_size", 1) != 1)
            file.at("spatial_merge_size").fail("expected 1: there is no tensor 'mm.patch_merger.weight'");
        out.config["model_type"] = "llava";
        out.config["vision_feature_layer"] = -1;
        out.config["vision_feature_select_strategy"] = "full";
    }
    out.config["vision_config"]["model_type"] = "pixtral";
    out.config["image_token_index"] = file.token({"[IMG]"});
    out.preprocessor["image_processor_type"] = "PixtralImageProcessor";
    out.preprocessor["size"] = Json{{"longest_edge", file.positive("image_size")}};
    out.weights.remove("v.token_embd.img_break"); // a row of the model's table
}

// ---- Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5 ----

constexpr std::array<TensorName, 8> qwen_tower{{
    {"v.patch_embd", "patch_embed.proj"},
    {"v.patch_embd.weight", "patch_embed.proj.weight"}, // and ".1"
    {"v.blk.{i}.ln1", "blocks.{i}.norm1"},
    {"v.blk.{i}.ln2", "blocks.{i}.norm2"},
    {"v.blk.{i}.attn_q", "blocks.{i}.attn.q"},
    {"v.blk.{i}.attn_k", "blocks.{i}.attn.k"},
    {"v.blk.{i}.attn_v", "blocks.{i}.attn.v"},
    {"v.blk.{i}.attn_out", "blocks.{i}.attn.proj"},
}};
constexpr std::array<TensorName, 5> qwen2_tensors{{
    {"v.blk.{i}.ffn_up", "visual.blocks.{i}.mlp.fc1"},
    {"v.blk.{i}.ffn_down", "visual.blocks.{i}.mlp.fc2"},
    {"v.post_ln", "visual.merger.ln_q"},
    {"mm.0", "visual.merger.mlp.0"},
    {"mm.2", "visual.merger.mlp.2"},
}};
constexpr std::array<TensorName, 6> qwen2_5_tensors{{
    {"v.blk.{i}.ffn_gate", "visual.blocks.{i}.mlp.gate_proj"},
    {"v.blk.{i}.ffn_up", "visual.blocks.{i}.mlp.up_proj"},
    {"v.blk.{i}.ffn_down", "visual.blocks.{i}.mlp.down_proj"},
    {"v.post_ln", "visual.merger.ln_q"},
    {"mm.0", "visual.merger.mlp.0"},
    {"mm.2", "visual.merger.mlp.2"},
}};
constexpr std::array<TensorName, 10> qwen3_tensors{{
    {"v.position_embd", "visual.pos_embed"},
    {"v.blk.{i}.attn_qkv", "visual.blocks.{i}.attn.qkv"},
    {"v.blk.{i}.ffn_up", "visual.blocks.{i}.mlp.linear_fc1"},
    {"v.blk.{i}.ffn_down", "visual.blocks.{i}.mlp.linear_fc2"},
    {"v.deepstack.{i}.norm", "visual.deepstack_merger_list.{i}.norm"},
    {"v.deepstack.{i}.fc1", "visual.deepstack_merger_list.{i}.linear_fc1"},
    {"v.deepstack.{i}.fc2", "visual.deepstack_merger_list.{i}.linear_fc2"},
    {"v.post_ln", "visual.merger.norm"},
    {"mm.0", "visual.merger.linear_fc1"},
    {"mm.2", "visual.merger.linear_fc2"},
}};
constexpr std::array<SettingName, 3> qwen2_settings{{
    {"image_max_pixels", "preprocessor/max_pixels"},
    {"image_min_pixels", "preprocessor/min_pixels"},
    {"spatial_merge_size", "vision_config/spatial_merge_size"},
}};
constexpr std::array<SettingName, 2> windows_of_qwen2_5{{
    {"n_wa_pattern", "vision_config/fullatt_block_indexes"},
    {"window_size", "vision_config/window_size"},
}};
constexpr auto qwen2_5_settings = joined(qwen2_settings, windows_of_qwen2_5);
constexpr std::array<SettingName, 1> deepstack_of_qwen3{{
    {"is_deepstack_layers", "vision_config/deepstack_visual_indexes"},
}};
constexpr auto qwen3_settings = joined(qwen2_settings, deepstack_of_qwen3);

// A file has the kernels of two frames, and a folder one of both. An image's frames are the same, so that one frame
// with the sum of the kernels gives the same.
void join_frames(model::Weights &weights) {
    const std::string kernel = "visual.patch_embed.proj.weight", second = kernel + ".1";
    const model::Weight both = model::Weight::stacked({weights.at(kernel), weights.at(second)});
    Shape shape = weights.at(kernel).type.shape;
    const model::Weight sum = matrices_summed(both.shaped({1, 2, element_count(shape)}));
    shape.insert(shape.begin() + std::min<std::ptrdiff_t>(2, std::ssize(shape)), 1);
    weights.remove(kernel); // both
    weights.add(kernel, sum.shaped(shape));
}

// Queries, keys and values, which a folder has in one matrix.
void join_heads(model::Weights &weights, int64_t layers) {
    for (int64_t i = 0; i < layers; ++i) {
        const std::string module = "visual.blocks." + std::to_string(i) + ".attn.";
        for (const char *port : {".weight", ".bias"}) {
            std::vector<model::Weight> parts;
            for (const char *part : {"q", "k", "v"}) parts.push_back(weights.at(module + part + port));
            Shape shape = parts.front().type.shape;
            if (shape.empty()) continue; // which the family refuses
            shape.front() *= 3;
            weights.add(module + "qkv" + port, model::Weight::stacked(parts).shaped(shape));
        }
        for (const char *part : {"q.", "k.", "v."}) weights.remove(module + part);
    }
}

int64_t layers_of(const ProjectorFile &file) {
    constexpr int64_t most = 1000; // more are refused later
    return std::min(file.positive("block_count"), most);
}

// What the releases have in common.
void complete_qwen(const ProjectorFile &file, ProjectorFolder &out) {
    constexpr int64_t least = 8, most = 4096; // tokens of an image, as clip.cpp has them; a file may say it in pixels
    constexpr int64_t most_pixels = 4096;     // so that their number does not overflow
    const int64_t patch = file.positive("patch_size"), merge = file.positive("spatial_merge_size", 2),
                  square_side = patch * merge;
    if (square_side > most_pixels)
        file.refuse("a token shows " + std::to_string(square_side) + " x " + std::to_string(square_side) +
                    " pixels; expected at most 4096: see 'clip.vision.patch_size'");
    expect_eps(file, 1e-6, "1e-6");
    out.config["vision_config"]["temporal_patch_size"] = 1; // below
    out.config["image_token_id"] = file.token({"<|image_pad|>"});
    out.preprocessor["image_processor_type"] = "Qwen2VLImageProcessor";
    out.preprocessor["patch_size"] = patch;
    out.preprocessor["merge_size"] = merge;
    out.preprocessor["temporal_patch_size"] = 1;
    const int64_t greatest = file.positive("image_max_pixels", most * square_side * square_side);
    out.preprocessor["min_pixels"] =
        file.positive("image_min_pixels", std::min(least * square_side * square_side, greatest));
    out.preprocessor["max_pixels"] = greatest;
    join_frames(out.weights);
}

void complete_qwen2(const ProjectorFile &file, ProjectorFolder &out) {
    complete_qwen(file, out);
    const int64_t width = file.positive("embedding_length");
    const model::Weight &matrix = out.weights.at("visual.blocks.0.mlp.fc1.weight");
    Json &vision = out.config["vision_config"];
    vision["mlp_ratio"] = element_count(matrix.type.shape) / width / width; // the file's number is of something else
    vision["embed_dim"] = width;
    vision["hidden_size"] = file.width();
    join_heads(out.weights, layers_of(file));
}

void complete_qwen2_5(const ProjectorFile &file, ProjectorFolder &out) {
    constexpr int64_t window = 112; // pixels, as clip.cpp has it
    complete_qwen(file, out);
    Json &vision = out.config["vision_config"];
    const int64_t pattern = file.positive("n_wa_pattern");
    Json full = Json::array();
    for (int64_t i = pattern - 1; i < layers_of(file); i += pattern) full.push_back(i);
    vision["fullatt_block_indexes"] = full;
    vision["window_size"] = file.positive("window_size", window);
    vision["out_hidden_size"] = file.width();
    join_heads(out.weights, layers_of(file));
}

void complete_qwen3(const ProjectorFile &file, ProjectorFolder &out) {
    complete_qwen(file, out);
    Json &vision = out.config["vision_config"];
    const int64_t rows = file.positive("image_size") / file.positive("patch_size"); // of the table of positions
    vision["num_position_embeddings"] = rows * rows;
    vision["out_hidden_size"] = file.width();
    // A file numbers mergers by their layers, and a folder one after the other.
    const std::vector<bool> flags = file.at("is_deepstack_layers").booleans();
    const std::string mergers = "visual.deepstack_merger_list.";
    Json deep = Json::array();
    for (size_t i = 0, count = 0; i < flags.size(); ++i) {
        if (!flags[i]) continue;
        deep.push_back(i);
        const std::string from = mergers + std::to_string(i) + ".", to = mergers + std::to_string(count++) + ".";
        if (from == to) continue;
        for (const char *module : {"norm", "linear_fc1", "linear_fc2"})
            for (const char *port : {".weight", ".bias"})
                out.weights.add(to + module + port, out.weights.at(from + module + port));
        out.weights.remove(from);
    }
    vision["deepstack_visual_indexes"] = deep;
}

} // namespace

std::span<const ProjectorKind> projector_kinds() {
    static constexpr std::array<ProjectorKind, 12> kinds{{
        {"gemma3", "gemma3", "gemma3", tanh_gelu, "vision_tower.", clip_tower, gemma3_tensors, gemma3_settings,
         complete_gemma3},
        {"gemma4v", "gemma4", "gemma4", tanh_gelu, "vision_tower.", gemma4_projector_tower, gemma4_projector_tensors,
         gemma4_projector_settings, complete_gemma4_projector},
        {"idefics3", "idefics3", "", tanh_gelu, "vision_model.", clip_tower, idefics3_tensors, idefics3_settings,
         complete_idefics3},
        {"internvl", "internvl", "", "gelu", "vision_tower.", internvl_projector_tower, internvl_projector_tensors,
         internvl_projector_settings, complete_internvl_projector},
        {"mlp", "llava", "", "gelu", "vision_tower.", clip_tower, llava_tensors, llava_settings, complete_llava},
        {"pixtral", "mistral3", "", "gelu", "vision_tower.", pixtral_tower, pixtral_tensors, pixtral_settings,
         complete_pixtral},
        {"qwen2.5vl_merger", "qwen2_5_vl", "qwen2vl", "gelu", "visual.", qwen_tower, qwen2_5_tensors, qwen2_5_settings,
         complete_qwen2_5},
        {"qwen2vl_merger", "qwen2_vl", "qwen2vl", "gelu", "visual.", qwen_tower, qwen2_tensors, qwen2_settings,
         complete_qwen2},
        {"qwen3vl_merger", "qwen3_5", "qwen35", tanh_gelu, "visual.", qwen_tower, qwen3_tensors, qwen3_settings,
         complete_qwen3},
        {"qwen3vl_merger", "qwen3_5_moe", "qwen35moe", tanh_gelu, "visual.", qwen_tower, qwen3_tensors, qwen3_settings,
         complete_qwen3},
        {"qwen3vl_merger", "qwen3_vl", "qwen3vl", tanh_gelu, "visual.", qwen_tower, qwen3_tensors, qwen3_settings,
         complete_qwen3},
        {"qwen3vl_merger", "qwen3_vl_moe", "qwen3vlmoe", tanh_gelu, "visual.", qwen_tower, qwen3_tensors,
         qwen3_settings, complete_qwen3},
    }};
    return kinds;
}

} // namespace lamina::architectures
