"""Models like DeepSeek-V3, plain ones and in the shape of popular ones: see models.py and popular.py."""

import transformers as T

from models import DECODER, VOCABULARY, POSITIONS, Mixture, plain

SIZES = dict(kv_lora_rank=10, q_lora_rank=14, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=8, n_routed_experts=8,
             num_experts_per_tok=3, moe_intermediate_size=12, n_shared_experts=2)


def plain_models():
    sizes = DECODER | SIZES | dict(
        num_key_value_heads=4, hidden_act="silu", rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=False,
        routed_scaling_factor=1.5, n_group=4, topk_group=2,
        rope_parameters={"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.5,
                         "original_max_position_embeddings": 8})
    yield plain(T.DeepseekV2ForCausalLM, T.DeepseekV2Config, **sizes, first_k_dense_replace=1, mlp_bias=False,
                topk_method="group_limited_greedy")
    yield plain(T.DeepseekV3ForCausalLM, T.DeepseekV3Config, **sizes, first_k_dense_replace=1, norm_topk_prob=True,
                rope_interleave=True)
    yield plain(T.Glm4MoeLiteForCausalLM, T.Glm4MoeLiteConfig, **sizes, mlp_layer_types=["dense", "sparse"],
                norm_topk_prob=True, rope_interleave=True)
    grouped = {key: value for key, value in sizes.items() if key not in ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim",
                                                                         "qk_nope_head_dim", "v_head_dim")}
    yield plain(T.Glm4MoeForCausalLM, T.Glm4MoeConfig, **grouped | dict(
        num_key_value_heads=2, head_dim=8, first_k_dense_replace=1, norm_topk_prob=True, use_qk_norm=True,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}))


def popular_models():
    shape = DECODER | SIZES | dict(num_key_value_heads=4, vocab_size=VOCABULARY, max_position_embeddings=POSITIONS)
    common = dict(attention_bias=False, attention_dropout=0.0, aux_loss_alpha=0.001, bos_token_id=0, eos_token_id=1,
                  ep_size=1, first_k_dense_replace=1, hidden_act="silu", initializer_range=0.02, moe_layer_freq=1,
                  pretraining_tp=1, rms_norm_eps=1e-6, rope_theta=10000, seq_aux=True, tie_word_embeddings=False,
                  torch_dtype="bfloat16", use_cache=True)
    yarn = {"beta_fast": 32, "beta_slow": 1, "factor": 40, "original_max_position_embeddings": 8, "type": "yarn"}
    second = common | dict(
        architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2", n_group=1, norm_topk_prob=False,
        rope_scaling=yarn | {"mscale": 0.707, "mscale_all_dim": 0.707}, routed_scaling_factor=1.0, scoring_func="softmax",
        topk_group=1, topk_method="greedy", transformers_version="4.33.1")
    yield Mixture("DeepSeek-V2-Lite-Chat", shape | second | dict(q_lora_rank=None))
    yield Mixture("DeepSeek-V2-Chat", shape | second | dict(
        n_group=4, routed_scaling_factor=16.0, topk_group=2, topk_method="group_limited_greedy"))
    third = common | dict(
        architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", n_group=4, norm_topk_prob=True,
        num_nextn_predict_layers=1, rope_scaling=yarn | {"mscale": 1.0, "mscale_all_dim": 1.0}, routed_scaling_factor=2.5,
        scoring_func="sigmoid", topk_group=2, topk_method="noaux_tc", transformers_version="4.33.1")
    ahead = {"model.layers.2.eh_proj.weight": [24, 48], "model.layers.2.enorm.weight": [24],
             "model.layers.2.hnorm.weight": [24], "model.layers.2.shared_head.norm.weight": [24],
             "model.layers.2.input_layernorm.weight": [24]}
    yield Mixture("DeepSeek-V3", shape | third, extra=ahead)
    yield Mixture("Moonlight-16B-A3B-Instruct", shape | third | dict(
        n_group=1, topk_group=1, num_nextn_predict_layers=0, q_lora_rank=None, rope_scaling=None,
        routed_scaling_factor=2.446, rope_theta=50000.0))
    yield Mixture("GLM-4.7-Flash", shape | dict(
        architectures=["Glm4MoeLiteForCausalLM"], attention_bias=False, attention_dropout=0.0, dtype="bfloat16",
        eos_token_id=[3, 4, 5], first_k_dense_replace=1, hidden_act="silu", model_type="glm4_moe_lite", n_group=1,
        norm_topk_prob=True, num_nextn_predict_layers=1, pad_token_id=3, partial_rotary_factor=1.0, rms_norm_eps=1e-5,
        rope_scaling=None, rope_theta=1000000, routed_scaling_factor=1.8, tie_word_embeddings=False, topk_group=1,
        topk_method="noaux_tc", transformers_version="5.0.0rc0"), extra=ahead)
    own_words = {"model.layers.2.embed_tokens.weight": [VOCABULARY, 24],
                 "model.layers.2.shared_head.head.weight": [VOCABULARY, 24]}
    glm = DECODER | {key: SIZES[key] for key in ("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size")} | dict(
        architectures=["Glm4MoeForCausalLM"], attention_bias=True, attention_dropout=0.0, eos_token_id=[3, 4, 5],
        first_k_dense_replace=1, head_dim=8, hidden_act="silu", initializer_range=0.02, model_type="glm4_moe", n_group=1,
        n_shared_experts=1, norm_topk_prob=True, num_nextn_predict_layers=1, pad_token_id=3, partial_rotary_factor=0.5,
        rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000, routed_scaling_factor=1.0, tie_word_embeddings=False,
        topk_group=1, torch_dtype="bfloat16", transformers_version="4.54.0", use_cache=True, use_qk_norm=False,
        vocab_size=VOCABULARY, max_position_embeddings=POSITIONS)
    yield Mixture("GLM-4.5-Air", glm, extra=ahead | own_words)
    yield Mixture("GLM-4.6", glm | dict(routed_scaling_factor=2.5, use_qk_norm=True), extra=ahead)
