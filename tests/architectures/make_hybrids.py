"""Tiny models with memories or short convolutions, and gpt-oss."""

import json

import torch
import transformers
from safetensors.torch import load_file, save_file

from make_decoders import decoder, moe
from tiny import here, ids, is_wanted, llama_like, rope, save, vocabulary


def in_mxfp4(name, config):
    """Experts in MXFP4, as published: the model has the values that transformers makes of the blocks."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    packed = {}
    model = transformers.GptOssForCausalLM(config)
    for i, layer in enumerate(model.model.layers):
        for part in ("gate_up_proj", "down_proj"):
            parameter = getattr(layer.mlp.experts, part)
            experts, inputs, outputs = parameter.shape
            blocks = torch.randint(0, 256, (experts, outputs, inputs // 32, 16), dtype=torch.uint8)
            scales = torch.randint(122, 126, (experts, outputs, inputs // 32), dtype=torch.uint8)
            packed[f"model.layers.{i}.mlp.experts.{part}"] = (
                blocks, scales, convert_moe_packed_tensors(blocks.clone(), scales.clone(), dtype=torch.float32))
    values = {key: value for key, (_, _, value) in packed.items()}

    def outputs(m):
        for key, value in values.items():
            assert m.get_parameter(key).shape == value.shape
            m.get_parameter(key).copy_(value)
        return {"logits": m(input_ids=tokens).logits}

    tokens = ids(2, 13)
    config._attn_implementation = config._experts_implementation = "eager"
    if save(name, model, {"decode": ({"ids": tokens, "position": torch.zeros(2, dtype=torch.int32)}, outputs)}):
        file = here / name / "model.safetensors"
        tensors = {key: value for key, value in load_file(file).items() if key not in packed}
        for key, (blocks, scales, _) in packed.items():
            tensors |= {key + "_blocks": blocks, key + "_scales": scales}
        save_file(tensors, file, metadata={"format": "pt"})
        written = json.loads((here / name / "config.json").read_text())
        written["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
        (here / name / "config.json").write_text(json.dumps(written, indent=2) + "\n")


def lfm2():
    config = lambda **more: transformers.Lfm2Config(**llama_like(
        num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], block_multiple_of=10,
        rope_parameters=rope("default")) | more)
    decoder("lfm2", transformers.Lfm2ForCausalLM, config(), recurrent=True)
    decoder("lfm2_biased", transformers.Lfm2ForCausalLM, config(
        conv_bias=True, conv_L_cache=4, tie_word_embeddings=False, block_auto_adjust_ff_dim=False), recurrent=True)
    mixture = lambda **more: transformers.Lfm2MoeConfig(**llama_like(
        num_hidden_layers=4, layer_types=["conv", "full_attention"] * 2, num_dense_layers=1, num_experts=5,
        num_experts_per_tok=2, moe_intermediate_size=20, rope_parameters=rope("default")) | more)

    def biased(config):
        model = transformers.Lfm2MoeForCausalLM(config)
        for name, buffer in model.named_buffers():
            if name.endswith("expert_bias"):
                buffer.copy_(torch.randint(-4, 5, buffer.shape) / 8)  # exact in half precision
        return model

    decoder("lfm2_moe", biased, mixture(), recurrent=True)
    decoder("lfm2_moe_unbiased", transformers.Lfm2MoeForCausalLM, mixture(
        use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.5, tie_word_embeddings=False), recurrent=True)


def gpt_oss():
    yarn = rope("yarn", factor=8.0, beta_fast=4.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=16)
    config = lambda **more: transformers.GptOssConfig(**llama_like(
        num_hidden_layers=3, head_dim=8, num_local_experts=5, num_experts_per_tok=2, sliding_window=4,
        rope_parameters=yarn, tie_word_embeddings=False) | more)
    decoder("gpt_oss", transformers.GptOssForCausalLM, config())
    decoder("gpt_oss_limited", transformers.GptOssForCausalLM, config(
        swiglu_alpha=1.2, swiglu_limit=0.5, attention_bias=False, layer_types=["full_attention", "sliding_attention"] + [
            "sliding_attention"], rope_parameters=rope("default")))
    in_mxfp4("gpt_oss_mxfp4", config(hidden_size=64, intermediate_size=96))


def add_drafting_layer(file):
    """One that predicts a token ahead, from a layer with attention. transformers leaves it out."""
    tensors = load_file(file)
    norm = tensors["model.norm.weight"]
    layer = {name.replace("model.layers.1.", "mtp.layers.0."): tensor.clone() for name, tensor in tensors.items()
             if name.startswith("model.layers.1.")}
    heads = {f"mtp.{name}.weight": norm.clone() for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden")}
    heads["mtp.fc.weight"] = torch.randn(len(norm), 2 * len(norm))
    save_file(tensors | layer | heads, file, metadata={"format": "pt"})


def recurrent_decoders():
    """Most of their layers have a memory instead of attention."""
    T = transformers
    linear = dict(num_hidden_layers=4, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
                  linear_value_head_dim=10, layer_types=["linear_attention", "full_attention"] * 2,
                  rope_parameters=rope("default", partial_rotary_factor=0.5))
    mixture = linear | moe | dict(num_experts=6, shared_expert_intermediate_size=24)
    decoder("qwen3_5", T.Qwen3_5ForCausalLM, T.Qwen3_5TextConfig(**llama_like(**linear)), recurrent=True)
    decoder("qwen3_5_tied", T.Qwen3_5ForCausalLM, T.Qwen3_5TextConfig(**llama_like(
        **linear | dict(linear_conv_kernel_dim=3, linear_num_key_heads=4, attention_bias=True, hidden_act="gelu",
                        tie_word_embeddings=True))), recurrent=True)
    decoder("qwen3_5_moe", T.Qwen3_5MoeForCausalLM, T.Qwen3_5MoeTextConfig(**llama_like(**mixture)), recurrent=True)
    decoder("qwen3_next", T.Qwen3NextForCausalLM, T.Qwen3NextConfig(**llama_like(
        **mixture | dict(decoder_sparse_step=2, mlp_only_layers=[1]))), recurrent=True)
    # As GGUF files have them: exact norms, and values as deep as keys.
    plain = dict(linear_value_head_dim=6)
    decoder("qwen3_5_plain", T.Qwen3_5ForCausalLM, T.Qwen3_5TextConfig(
        **llama_like(**linear | plain, mtp_num_hidden_layers=1)), dtype=torch.float32, recurrent=True)
    if is_wanted("qwen3_5_plain"):
        add_drafting_layer(here / "qwen3_5_plain" / "model.safetensors")
    decoder("qwen3_5_moe_plain", T.Qwen3_5MoeForCausalLM, T.Qwen3_5MoeTextConfig(**llama_like(**mixture | plain)),
            dtype=torch.float32, recurrent=True)
    decoder("qwen3_next_plain", T.Qwen3NextForCausalLM, T.Qwen3NextConfig(**llama_like(**mixture | plain)),
            dtype=torch.float32, recurrent=True)
    seeing = dict(depth=1, hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=36, num_position_embeddings=16,
                  patch_size=4)
    decoder("qwen3_5_whole", T.Qwen3_5ForConditionalGeneration, T.Qwen3_5Config(
        text_config=llama_like(**linear, tie_word_embeddings=True), vision_config=seeing, tie_word_embeddings=True),
        recurrent=True)
    decoder("qwen3_5_moe_whole", T.Qwen3_5MoeForConditionalGeneration, T.Qwen3_5MoeConfig(
        text_config=llama_like(**mixture), vision_config=seeing), recurrent=True)


def nemotron(config):
    """With a bias of the choice of experts, which is no parameter."""
    model = transformers.NemotronHForCausalLM(config)
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.copy_((torch.randn_like(buffer) * 0.2).half())
    return model


def falcon_h1(name, **more):
    T = transformers
    sizes = dict(num_hidden_layers=2, mamba_d_ssm=48, mamba_n_heads=6, mamba_n_groups=2, mamba_d_state=10, mamba_chunk_size=8,
                 rope_parameters=rope("default"))
    decoder(name, T.FalconH1ForCausalLM, T.FalconH1Config(**llama_like(**sizes | more)), recurrent=True,
            dtype=torch.float32 if name.endswith("plain") else torch.float16)


def falcon_h1_decoders():
    """With a state and attention in every layer."""
    factors = dict(
        embedding_multiplier=3.0, lm_head_multiplier=0.4, attention_in_multiplier=0.8, attention_out_multiplier=1.3,
        key_multiplier=0.6, ssm_in_multiplier=1.25, ssm_out_multiplier=0.7, mlp_multipliers=[0.9, 0.6],
        ssm_multipliers=[0.9, 0.75, 1.35, 0.5, 1.2])
    falcon_h1("falcon_h1", **factors, head_dim=8, tie_word_embeddings=True)
    falcon_h1("falcon_h1_normed", **factors, mamba_rms_norm=True, mamba_conv_bias=False, time_step_limit=(0.25, 1.0),
              hidden_act="gelu")
    falcon_h1("falcon_h1_gated", **factors, mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_d_conv=3)
    falcon_h1("falcon_h1_biased", mamba_d_ssm=None, mamba_expand=1, mamba_d_head=6, attention_bias=True, mlp_bias=True,
              mamba_proj_bias=True, projectors_bias=True, key_multiplier=0.7, ssm_multipliers=[0.8, 0.75, 1.3, 0.5, 1.2])
    falcon_h1("falcon_h1_plain", **factors, head_dim=8)
    falcon_h1("falcon_h1_normed_plain", **factors, head_dim=8, mamba_rms_norm=True, mamba_norm_before_gate=False)


def scanning_decoders():
    """Most or all of their layers have a state, as in Mamba-2."""
    T = transformers
    mamba = dict(vocab_size=vocabulary, hidden_size=24, num_hidden_layers=2, expand=2, num_heads=6, head_dim=8, state_size=10,
                 n_groups=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    decoder("mamba2", T.Mamba2ForCausalLM, T.Mamba2Config(**mamba), recurrent=True)
    decoder("mamba2_limited", T.Mamba2ForCausalLM, T.Mamba2Config(
        **mamba | dict(n_groups=1, use_bias=True, use_conv_bias=False, conv_kernel=3, hidden_act="gelu",
                       time_step_limit=(0.5, 1.5), tie_word_embeddings=True, layer_norm_epsilon=1e-3)), recurrent=True)
    decoder("mamba2_plain", T.Mamba2ForCausalLM, T.Mamba2Config(**mamba), dtype=torch.float32, recurrent=True)

    first = dict(vocab_size=vocabulary, hidden_size=20, num_hidden_layers=2, state_size=6, bos_token_id=1, eos_token_id=2,
                 pad_token_id=0, use_associative_scan=False)
    decoder("mamba", T.MambaForCausalLM, T.MambaConfig(**first, time_step_rank=3), recurrent=True)
    decoder("mamba_biased", T.MambaForCausalLM, T.MambaConfig(
        **first, expand=3, use_bias=True, use_conv_bias=False, conv_kernel=3, hidden_act="gelu", layer_norm_epsilon=1e-3,
        tie_word_embeddings=False), recurrent=True)
    decoder("mamba_plain", T.MambaForCausalLM, T.MambaConfig(**first), dtype=torch.float32, recurrent=True)
    decoder("falcon_mamba", T.FalconMambaForCausalLM, T.FalconMambaConfig(
        **first, time_step_rank=4, mixer_rms_eps=0.1), recurrent=True)
    decoder("falcon_mamba_plain", T.FalconMambaForCausalLM, T.FalconMambaConfig(
        **first, mixer_rms_eps=1e-5, tie_word_embeddings=False), dtype=torch.float32, recurrent=True)

    granite = llama_like(num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], hidden_size=36, mamba_n_heads=6,
                         mamba_d_state=10, mamba_n_groups=2, shared_intermediate_size=28, num_local_experts=5,
                         num_experts_per_tok=2, embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3,
                         logits_scaling=2.5)
    dense = dict(num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=44)
    hybrid = lambda **more: T.GraniteMoeHybridConfig(**granite | more)
    decoder("granite_hybrid", T.GraniteMoeHybridForCausalLM, hybrid(), recurrent=True)
    decoder("granite_hybrid_dense", T.GraniteMoeHybridForCausalLM, hybrid(
        **dense, position_embedding_type="rope", rope_parameters=rope("default"), attention_bias=True, mamba_d_head=12,
        mamba_proj_bias=True, mamba_conv_bias=False, time_step_limit=(0.25, 1.0), tie_word_embeddings=True), recurrent=True)
    decoder("granite_hybrid_attending", T.GraniteMoeHybridForCausalLM, hybrid(
        layer_types=["attention"] * 3, position_embedding_type="rope", rope_parameters=rope("default")))
    decoder("granite_hybrid_dense_attending", T.GraniteMoeHybridForCausalLM, hybrid(
        **dense, layer_types=["attention"] * 3, position_embedding_type="rope", rope_parameters=rope("default")))
    decoder("granite_hybrid_plain", T.GraniteMoeHybridForCausalLM, hybrid(), dtype=torch.float32, recurrent=True)
    decoder("granite_hybrid_dense_plain", T.GraniteMoeHybridForCausalLM, hybrid(**dense, mamba_n_groups=1), dtype=torch.float32,
            recurrent=True)

    sizes = dict(vocab_size=vocabulary, hidden_size=36, intermediate_size=44, num_attention_heads=6, num_key_value_heads=2,
                    head_dim=8, max_position_embeddings=64, mamba_num_heads=6, mamba_head_dim=8, ssm_state_size=10,
                    n_groups=2, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=20,
                    moe_shared_expert_intermediate_size=28, layers_block_type=["mamba", "mlp", "attention", "mamba"])
    mixture = dict(layers_block_type=["mamba", "moe", "attention", "moe"], routed_scaling_factor=2.5)
    hybrid = lambda **more: T.NemotronHConfig(**sizes | more)
    decoder("nemotron_h", nemotron, hybrid(mlp_bias=True), recurrent=True)
    decoder("nemotron_h_moe", nemotron, hybrid(
        **mixture, n_group=4, topk_group=2, time_step_min=0.5), recurrent=True)
    decoder("nemotron_h_latent", nemotron, hybrid(
        **mixture, moe_latent_size=16, norm_topk_prob=False, mlp_hidden_act="silu"), recurrent=True)
    decoder("nemotron_h_plain", nemotron, hybrid(), dtype=torch.float32, recurrent=True)
    decoder("nemotron_h_moe_plain", nemotron, hybrid(**mixture), dtype=torch.float32, recurrent=True)
