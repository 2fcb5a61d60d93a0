// The names of settings and tensors in GGUF files, and in Hugging Face folders, whose names architectures use.
#pragma once

#include "architectures/architecture.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace lamina::architectures {

// Settings of all architectures (github.com/ggml-org/ggml, docs/gguf.md).
inline constexpr std::array<SettingName, 15> gguf_settings{{
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.sliding_window", "sliding_window"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
    {"vocab_size", "vocab_size"},
}};

// Those of config.json's object "rope_scaling".
inline constexpr std::array<SettingName, 5> gguf_scaling{{
    {"rope.scaling.factor", "factor"},
    {"rope.scaling.original_context_length", "original_max_position_embeddings"},
    {"rope.scaling.type", "rope_type"},
    {"rope.scaling.yarn_beta_fast", "beta_fast"},
    {"rope.scaling.yarn_beta_slow", "beta_slow"},
}};

// Tensors of most architectures.
inline constexpr std::array<TensorName, 26> gguf_tensors{{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"dense_2", "dense_2.linear"},
    {"dense_3", "dense_3.linear"},
    {"blk.{i}.attn_norm", "model.layers.{i}.input_layernorm"},
    {"blk.{i}.attn_q", "model.layers.{i}.self_attn.q_proj"},
    {"blk.{i}.attn_k", "model.layers.{i}.self_attn.k_proj"},
    {"blk.{i}.attn_v", "model.layers.{i}.self_attn.v_proj"},
    {"blk.{i}.attn_qkv", "model.layers.{i}.self_attn.qkv_proj"},
    {"blk.{i}.attn_q_norm", "model.layers.{i}.self_attn.q_norm"},
    {"blk.{i}.attn_k_norm", "model.layers.{i}.self_attn.k_norm"},
    {"blk.{i}.attn_output", "model.layers.{i}.self_attn.o_proj"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_gate", "model.layers.{i}.mlp.gate_proj"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.up_proj"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mlp.down_proj"},
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.mlp.gate"},
    {"blk.{i}.ffn_gate_exps", "model.layers.{i}.mlp.experts.gate_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.mlp.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.mlp.experts.down_proj"},
    {"blk.{i}.ffn_gate_up_exps", "model.layers.{i}.mlp.experts.gate_up_proj"},
    {"blk.{i}.ffn_gate_inp_shexp", "model.layers.{i}.mlp.shared_expert_gate"},
    {"blk.{i}.ffn_gate_shexp", "model.layers.{i}.mlp.shared_expert.gate_proj"},
    {"blk.{i}.ffn_up_shexp", "model.layers.{i}.mlp.shared_expert.up_proj"},
    {"blk.{i}.ffn_down_shexp", "model.layers.{i}.mlp.shared_expert.down_proj"},
}};

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight", as `names` or gguf_tensors has it; a name in
// neither stays unchanged.
[[nodiscard]] std::string hugging_face_name(const std::string &tensor, std::span<const TensorName> names);

// A message about the equivalent Hugging Face folder, with the names that the GGUF file has.
[[nodiscard]] std::string in_gguf_names(std::string message, const GgufKind &kind);

} // namespace lamina::architectures
