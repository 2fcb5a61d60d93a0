// How GGUF files have what Gemma 4 makes of images (github.com/ggml-org/llama.cpp, conversion/gemma.py and
// tools/mtmd/models/gemma4v.cpp).
#pragma once

#include "architectures/projector_kinds.hpp"

#include <array>

namespace lamina::architectures {

void complete_gemma4_projector(const ProjectorFile &file, ProjectorFolder &out);

inline constexpr std::array<TensorName, 22> gemma4_projector_tower{{
    {"v.patch_embd", "patch_embedder.input_proj"},
    {"v.position_embd.weight", "patch_embedder.position_embedding_table"},
    {"v.blk.{i}.ln1", "encoder.layers.{i}.input_layernorm"},
    {"v.blk.{i}.attn_q_norm", "encoder.layers.{i}.self_attn.q_norm"},
    {"v.blk.{i}.attn_k_norm", "encoder.layers.{i}.self_attn.k_norm"},
    {"v.blk.{i}.attn_post_norm", "encoder.layers.{i}.post_attention_layernorm"},
    {"v.blk.{i}.ln2", "encoder.layers.{i}.pre_feedforward_layernorm"},
    {"v.blk.{i}.ffn_post_norm", "encoder.layers.{i}.post_feedforward_layernorm"},
    // Matrices are in modules of their own, and limits beside these: complete_gemma4_projector() takes them out.
    {"v.blk.{i}.attn_q", "encoder.layers.{i}.self_attn.q_proj.linear"},
    {"v.blk.{i}.attn_k", "encoder.layers.{i}.self_attn.k_proj.linear"},
    {"v.blk.{i}.attn_v", "encoder.layers.{i}.self_attn.v_proj.linear"},
    {"v.blk.{i}.attn_out", "encoder.layers.{i}.self_attn.o_proj.linear"},
    {"v.blk.{i}.ffn_gate", "encoder.layers.{i}.mlp.gate_proj.linear"},
    {"v.blk.{i}.ffn_up", "encoder.layers.{i}.mlp.up_proj.linear"},
    {"v.blk.{i}.ffn_down", "encoder.layers.{i}.mlp.down_proj.linear"},
    {"v.blk.{i}.attn_q", "encoder.layers.{i}.self_attn.q_proj"},
    {"v.blk.{i}.attn_k", "encoder.layers.{i}.self_attn.k_proj"},
    {"v.blk.{i}.attn_v", "encoder.layers.{i}.self_attn.v_proj"},
    {"v.blk.{i}.attn_out", "encoder.layers.{i}.self_attn.o_proj"},
    {"v.blk.{i}.ffn_gate", "encoder.layers.{i}.mlp.gate_proj"},
    {"v.blk.{i}.ffn_up", "encoder.layers.{i}.mlp.up_proj"},
    {"v.blk.{i}.ffn_down", "encoder.layers.{i}.mlp.down_proj"},
}};
inline constexpr std::array<TensorName, 3> gemma4_projector_tensors{{
    {"v.std_bias", "vision_tower.std_bias"},
    {"v.std_scale", "vision_tower.std_scale"},
    {"mm.input_projection", "embed_vision.embedding_projection"},
}};
inline constexpr std::array<SettingName, 1> gemma4_projector_settings{
    {{"projector.scale_factor", "vision_config/pooling_kernel_size"}}};

} // namespace lamina::architectures
