"""Tiny models like DeepSeek-V3, with multi-head latent attention or without it: DeepSeek-V2, and GLM-4.5 and later."""

import torch
import transformers

from make_decoders import decoder
from tiny import llama_like, rope


def latent(**more):
    sizes = llama_like(num_hidden_layers=3, num_key_value_heads=6, kv_lora_rank=20, q_lora_rank=14, qk_rope_head_dim=8,
                       qk_nope_head_dim=10, v_head_dim=12, n_routed_experts=8, num_experts_per_tok=3,
                       moe_intermediate_size=16, n_shared_experts=2, first_k_dense_replace=1)
    return sizes | more


def biased(model_class):
    """Makes models whose choices of experts have biases, which are no parameters."""
    def made(config):
        model = model_class(config)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.copy_((torch.randn(buffer.shape) * 0.2).half())
        return model
    return made


def latent_decoders():
    T = transformers
    second = lambda **more: T.DeepseekV2Config(**latent(**more))
    decoder("deepseek_v2", T.DeepseekV2ForCausalLM, second(
        attention_bias=True, mlp_bias=True, rms_norm_eps=0.02, routed_scaling_factor=1.5, topk_method="group_limited_greedy",
        n_group=4, topk_group=2))
    decoder("deepseek_v2_plain", T.DeepseekV2ForCausalLM, second(
        q_lora_rank=None, first_k_dense_replace=0, rope_parameters=rope("yarn", factor=4.0, mscale=0.7, mscale_all_dim=0.7,
                                                                        original_max_position_embeddings=16)),
        length=24, dtype=torch.float32)
    third = lambda **more: T.DeepseekV3Config(**latent(n_group=4, topk_group=2) | more)
    decoder("deepseek_v3", biased(T.DeepseekV3ForCausalLM), third(
        attention_bias=True, norm_topk_prob=False, rope_interleave=False, tie_word_embeddings=True,
        rope_parameters=rope("yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5, original_max_position_embeddings=16)),
        length=24)
    decoder("deepseek_v3_plain", biased(T.DeepseekV3ForCausalLM), third(
        rms_norm_eps=1e-6, rope_parameters=rope("yarn", factor=4.0, mscale=1.0, mscale_all_dim=1.0,
                                                original_max_position_embeddings=16)), length=24, dtype=torch.float32)
    lite = {key: value for key, value in latent(n_group=2, topk_group=1, rms_norm_eps=1e-6).items()
            if key != "first_k_dense_replace"}
    decoder("glm4_moe_lite", biased(T.Glm4MoeLiteForCausalLM), T.Glm4MoeLiteConfig(**lite | dict(
        attention_bias=True, mlp_layer_types=["sparse", "dense", "sparse"], q_lora_rank=None)))
    decoder("glm4_moe_lite_plain", biased(T.Glm4MoeLiteForCausalLM), T.Glm4MoeLiteConfig(**lite), dtype=torch.float32)
    sizes = llama_like(num_hidden_layers=3, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16,
                       n_shared_experts=2)
    decoder("glm4_moe", biased(T.Glm4MoeForCausalLM), T.Glm4MoeConfig(**sizes, **dict(
        attention_bias=True, first_k_dense_replace=0, head_dim=16, hidden_act="gelu", n_group=4, norm_topk_prob=False,
        partial_rotary_factor=0.75, rms_norm_eps=0.02, routed_scaling_factor=1.5, tie_word_embeddings=True, topk_group=2)))
    decoder("glm4_moe_plain", biased(T.Glm4MoeForCausalLM), T.Glm4MoeConfig(**sizes, **dict(
        attention_bias=True, first_k_dense_replace=2, head_dim=12, routed_scaling_factor=2.5, use_qk_norm=True)),
        dtype=torch.float32)
    decoder("glm4_moe_air", biased(T.Glm4MoeForCausalLM), T.Glm4MoeConfig(**sizes, head_dim=8, n_group=2, topk_group=1),
            dtype=torch.float32)
