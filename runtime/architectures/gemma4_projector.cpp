#include "architectures/gemma4_projector.hpp"

#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace lamina::architectures {
namespace {

// A folder has the limits of a product beside the module of its matrix, and as numbers without an axis.
void take_limits_out(model::Weights &weights) {
    const std::string_view within = "_proj.linear.";
    const std::map<std::string, model::Weight, std::less<>> all = weights.entries();
    for (const auto &[name, weight] : all) {
        const size_t at = name.rfind(within);
        if (at == std::string::npos || name.ends_with(".weight")) continue;
        weights.remove(name);
        weights.add(name.substr(0, at) + "_proj." + name.substr(at + within.size()), weight.shaped({}));
    }
}

} // namespace

void complete_gemma4_projector(const ProjectorFile &file, ProjectorFolder &out) {
    constexpr const char *base = "clip.rope.freq_base"; // the tower's default, which other files leave out
    if (file.metadata().has(base) && file.metadata().at(base).number() != 100)
        file.metadata().at(base).fail("expected 100");
    out.weights.remove("a."); // of sound, which is not heard
    out.weights.remove("mm.a.");
    const auto has = [&](const char *tensor) { return file.weights().entries().contains(tensor); };
    const auto shape_of = [&](const char *tensor) -> const Shape & {
        if (!has(tensor)) file.refuse("there is no tensor " + in_quotes(tensor));
        return file.weights().at(tensor).type.shape;
    };
    const auto rows = [&](const char *tensor) {
        const Shape &shape = shape_of(tensor);
        return shape.empty() ? 0 : shape.front();
    };
    Json &vision = out.config["vision_config"];
    const int64_t head_dim = std::max<int64_t>(rows("v.blk.0.attn_q_norm.weight"), 1);
    vision["head_dim"] = head_dim;
    vision["num_key_value_heads"] = rows("v.blk.0.attn_k.weight") / head_dim;
    vision["hidden_activation"] = "gelu_pytorch_tanh"; // files do not say it
    vision["rms_norm_eps"] = file.at("attention.layer_norm_epsilon").number();
    vision["use_clipped_linears"] = has("v.blk.0.attn_q.input_max");
    vision["standardize"] = has("v.std_bias");
    vision["pooling_kernel_size"] = file.positive("projector.scale_factor", 3);
    take_limits_out(out.weights);

    // A file has colours before pixels, as of a convolution.
    constexpr const char *of_patches = "v.patch_embd.weight";
    const std::string matrix = "vision_tower.patch_embedder.input_proj.weight";
    const Shape &positions = shape_of("v.position_embd.weight");
    if (positions.size() == 3) vision["position_embedding_size"] = positions[1];
    const int64_t width = file.positive("embedding_length"), patch = file.positive("patch_size");
    if (patch > 256) file.at("patch_size").fail("expected at most 256");
    if (const Shape expected{width, 3, patch, patch}, &found = shape_of(of_patches); found != expected)
        file.refuse("the tensor " + in_quotes(of_patches) + " has the shape " + to_string(found) +
                    ", but according to its metadata it is " + to_string(expected));
    const model::Weight pixels = transposed_stack(out.weights.at(matrix).shaped({width, 3, patch * patch}), 0, 1);
    out.weights.remove(matrix);
    out.weights.add(matrix, pixels.shaped({width, 3 * patch * patch}));

    out.config["image_token_id"] = file.token({"<|image|>"});
    out.config["boi_token_id"] = file.token({"<|image>"});
    out.config["eoi_token_id"] = file.token({"<image|>"});
    out.preprocessor["image_processor_type"] = "Gemma4ImageProcessor";
    out.preprocessor["do_normalize"] = true;
    out.preprocessor["patch_size"] = patch;
    out.preprocessor["pooling_kernel_size"] = file.positive("projector.scale_factor", 3);
}

} // namespace lamina::architectures
