// How GGUF files have what InternVL makes of images (github.com/ggml-org/llama.cpp, conversion/internvl.py and
// tools/mtmd/clip.cpp).
#pragma once

#include "architectures/projector_kinds.hpp"

#include <array>

namespace lamina::architectures {

void complete_internvl_projector(const ProjectorFile &file, ProjectorFolder &out);

inline constexpr std::array<TensorName, 13> internvl_projector_tower{{
    {"v.patch_embd", "embeddings.patch_embeddings.projection"},
    {"v.position_embd.weight", "embeddings.position_embeddings"},
    {"v.class_embd", "embeddings.cls_token"},
    {"v.blk.{i}.ln1", "encoder.layer.{i}.layernorm_before"},
    {"v.blk.{i}.attn_q", "encoder.layer.{i}.attention.q_proj"},
    {"v.blk.{i}.attn_k", "encoder.layer.{i}.attention.k_proj"},
    {"v.blk.{i}.attn_v", "encoder.layer.{i}.attention.v_proj"},
    {"v.blk.{i}.attn_q_norm", "encoder.layer.{i}.attention.q_norm"},
    {"v.blk.{i}.attn_k_norm", "encoder.layer.{i}.attention.k_norm"},
    {"v.blk.{i}.attn_out", "encoder.layer.{i}.attention.projection_layer"},
    {"v.blk.{i}.ln2", "encoder.layer.{i}.layernorm_after"},
    {"v.blk.{i}.ffn_up", "encoder.layer.{i}.mlp.fc1"},
    {"v.blk.{i}.ffn_down", "encoder.layer.{i}.mlp.fc2"},
}};
// Factors of a layer are no modules in a folder: complete_internvl_projector() takes their suffix away.
inline constexpr std::array<TensorName, 5> internvl_projector_tensors{{
    {"v.blk.{i}.ls1", "vision_tower.encoder.layer.{i}.lambda_1"},
    {"v.blk.{i}.ls2", "vision_tower.encoder.layer.{i}.lambda_2"},
    {"mm.model.mlp.0", "multi_modal_projector.layer_norm"},
    {"mm.model.mlp.1", "multi_modal_projector.linear_1"},
    {"mm.model.mlp.3", "multi_modal_projector.linear_2"},
}};
inline constexpr std::array<SettingName, 3> internvl_projector_settings{{
    {"preproc_max_tiles", "preprocessor/max_patches"},
    {"preproc_min_tiles", "preprocessor/min_patches"},
    {"projector.scale_factor", "preprocessor/scale_factor"},
}};

} // namespace lamina::architectures
