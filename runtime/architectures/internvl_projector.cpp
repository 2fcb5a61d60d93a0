#include "architectures/internvl_projector.hpp"

#include <algorithm>
#include <string>

namespace lamina::architectures {
namespace {

// A tensor under another name.
void rename(model::Weights &weights, const std::string &from, const std::string &to) {
    const auto found = weights.entries().find(from);
    if (found == weights.entries().end()) return; // which the family refuses
    const model::Weight weight = found->second;
    weights.remove(from);
    weights.add(to, weight);
}

// With axes of the size 1 in front, as a folder has them.
void add_axes(model::Weights &weights, const std::string &name, size_t rank) {
    const auto found = weights.entries().find(name);
    if (found == weights.entries().end()) return;
    Shape shape = found->second.type.shape;
    while (shape.size() < rank) shape.insert(shape.begin(), 1);
    weights.reshape(name, shape);
}

} // namespace

void complete_internvl_projector(const ProjectorFile &file, ProjectorFolder &out) {
    // What files of before 2026 leave out is as in clip.cpp.
    constexpr int64_t usual_scale = 2, fewest = 1, most = 12;
    const std::string tower = "vision_tower.", layers = tower + "encoder.layer.";
    const auto has = [&](const char *tensor) { return file.weights().entries().contains(tensor); };
    const int64_t side = file.positive("image_size");
    out.config["downsample_ratio"] = 1.0 / static_cast<double>(file.positive("projector.scale_factor", usual_scale));
    out.config["image_token_id"] = file.token({"<IMG_CONTEXT>"});
    Json &vision = out.config["vision_config"];
    vision["image_size"] = Json::array({side, side});
    vision["patch_size"] = Json::array({file.positive("patch_size"), file.positive("patch_size")});
    vision["norm_type"] = has("v.blk.0.ln1.bias") ? "layer_norm" : "rms_norm";
    vision["attention_bias"] = has("v.blk.0.attn_q.bias");
    vision["use_qk_norm"] = has("v.blk.0.attn_q_norm.weight");
    out.preprocessor["image_processor_type"] = "GotOcr2ImageProcessor";
    out.preprocessor["size"] = Json{{"height", side}, {"width", side}};
    out.preprocessor["min_patches"] = file.positive("preproc_min_tiles", fewest);
    out.preprocessor["max_patches"] = file.positive("preproc_max_tiles", most);
    add_axes(out.weights, tower + "embeddings.position_embeddings", 3);
    add_axes(out.weights, tower + "embeddings.cls_token", 3);
    constexpr int64_t most_layers = 1000; // more are refused later
    for (int64_t i = 0; i < std::min(file.positive("block_count"), most_layers); ++i)
        for (const char *factors : {".lambda_1", ".lambda_2"}) {
            const std::string name = layers + std::to_string(i) + factors;
            rename(out.weights, name + ".weight", name);
        }
}

} // namespace lamina::architectures
