// How GGUF files have Gemma 4 (github.com/ggml-org/llama.cpp, conversion/gemma.py and src/models/gemma4.cpp).
#pragma once

#include "architectures/architecture.hpp"

#include <array>

namespace lamina::architectures {

// Sizes that differ between layers with a window and others, and positions.
void complete_gemma4(const GgufFacts &file, Json &config);

// Gives the tensors of the layers the names that folders have for them.
void rename_gemma4(Draft &draft, int64_t layers);

inline constexpr std::array<TensorName, 17> gemma4_tensors{{
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.pre_feedforward_layernorm"},
    {"blk.{i}.post_ffw_norm", "model.layers.{i}.post_feedforward_layernorm"},
    {"blk.{i}.post_ffw_norm_1", "model.layers.{i}.post_feedforward_layernorm_1"},
    {"blk.{i}.pre_ffw_norm_2", "model.layers.{i}.pre_feedforward_layernorm_2"},
    {"blk.{i}.post_ffw_norm_2", "model.layers.{i}.post_feedforward_layernorm_2"},
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.router.proj"},
    {"blk.{i}.ffn_gate_up_exps", "model.layers.{i}.experts.gate_up_proj"},
    {"blk.{i}.ffn_gate_exps", "model.layers.{i}.experts.gate_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.experts.down_proj"},
    {"blk.{i}.inp_gate", "model.layers.{i}.per_layer_input_gate"},
    {"blk.{i}.proj", "model.layers.{i}.per_layer_projection"},
    {"blk.{i}.post_norm", "model.layers.{i}.post_per_layer_input_norm"},
}};
inline constexpr std::array<SettingName, 9> gemma4_settings{{
    {"attention.key_length_swa", "head_dim"},
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"attention.value_length_swa", "head_dim"},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"expert_count", "num_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_used_count", "top_k_experts"},
    {"rope.dimension_count_swa", "head_dim"},
    {"rope.freq_base_swa", "rope_theta"},
}};
inline constexpr std::array<TensorFlag, 1> gemma4_flags{{{"enable_moe_block", "blk.0.ffn_gate_inp.weight"}}};

} // namespace lamina::architectures
