"""Tiny models that continue texts."""

import json

import torch
import transformers
from safetensors.torch import load_file, save_file

from tiny import here, ids, is_wanted, llama_like, rope, save, vocabulary


def decoder(name, model_class, config, length=13, dtype=torch.float16, recurrent=False):
    tokens = ids(2, length)
    config._attn_implementation = "eager"  # the other implementations ignore the soft cap
    config._experts_implementation = "eager"  # the other implementations do not compute in float64
    inputs = {"ids": tokens, "position": torch.zeros(2, dtype=torch.int32)}
    if recurrent:
        inputs["target_lengths"] = torch.full((2,), length, dtype=torch.int32)
    save(name, model_class(config), {"decode": (inputs, lambda m: {"logits": m(input_ids=tokens).logits})}, dtype)


def decoders():
    T = transformers
    llama = lambda **more: T.LlamaConfig(**llama_like(**more))
    decoder("llama", T.LlamaForCausalLM, llama())
    decoder("llama_tied_biased", T.LlamaForCausalLM,
            llama(tie_word_embeddings=True, attention_bias=True, mlp_bias=True, head_dim=10), dtype=torch.bfloat16)
    decoder("llama_linear", T.LlamaForCausalLM, llama(rope_parameters=rope("linear", factor=2.5)))
    decoder("llama_dynamic", T.LlamaForCausalLM, llama(rope_parameters=rope("dynamic", factor=4.0)))
    decoder("llama_yarn", T.LlamaForCausalLM, llama(
        head_dim=16, rope_parameters=rope("yarn", factor=8.0, original_max_position_embeddings=32)),
        length=48)
    decoder("llama_longrope", T.LlamaForCausalLM, llama(
        rope_parameters=rope("longrope", short_factor=[1.0, 1.5, 2.0], long_factor=[2.0, 3.0, 5.0],
                             original_max_position_embeddings=32)))
    decoder("llama_llama3", T.LlamaForCausalLM, llama(
        head_dim=16, rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                          original_max_position_embeddings=32)), length=48)
    decoder("mistral", T.MistralForCausalLM, T.MistralConfig(**llama_like(sliding_window=5)))
    scaled = rope("yarn", factor=16.0, original_max_position_embeddings=32, max_position_embeddings=64, mscale=1.0,
                  mscale_all_dim=1.0, beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1)
    decoder("ministral3", T.Ministral3ForCausalLM, T.Ministral3Config(**llama_like(head_dim=16, rope_parameters=scaled)),
            length=32)
    decoder("mistral_full", T.MistralForCausalLM, T.MistralConfig(**llama_like(sliding_window=None)))
    decoder("qwen2", T.Qwen2ForCausalLM, T.Qwen2Config(**llama_like(use_sliding_window=True, sliding_window=4,
                                                                    max_window_layers=1)))
    decoder("qwen3", T.Qwen3ForCausalLM, T.Qwen3Config(**llama_like(head_dim=8, attention_bias=True)))
    # Without settings that GGUF cannot express.
    decoder("qwen2_full", T.Qwen2ForCausalLM, T.Qwen2Config(**llama_like()))
    decoder("qwen3_plain", T.Qwen3ForCausalLM, T.Qwen3Config(**llama_like(head_dim=8, tie_word_embeddings=True)))
    decoder("gemma2", T.Gemma2ForCausalLM, T.Gemma2Config(
        **llama_like(head_dim=8, query_pre_attn_scalar=20, sliding_window=4, attn_logit_softcapping=5.0,
                     final_logit_softcapping=3.0)))
    decoder("gemma3", T.Gemma3ForCausalLM, T.Gemma3TextConfig(
        **llama_like(head_dim=8, query_pre_attn_scalar=12, sliding_window=4,
                     layer_types=["sliding_attention", "full_attention"])))
    more_decoders()
    opt = dict(vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=4, ffn_dim=44,
               max_position_embeddings=32, word_embed_proj_dim=36)
    decoder("opt", T.OPTForCausalLM, T.OPTConfig(**opt))
    decoder("opt_unbiased", T.OPTForCausalLM, T.OPTConfig(
        **opt, enable_bias=False, activation_function="gelu", tie_word_embeddings=False))
    gpt2 = dict(vocab_size=vocabulary, n_embd=36, n_layer=2, n_head=4, n_positions=32)
    decoder("gpt2", T.GPT2LMHeadModel, T.GPT2Config(**gpt2))
    decoder("gpt2_scaled", T.GPT2LMHeadModel, T.GPT2Config(
        **gpt2, n_inner=52, activation_function="relu", scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False))


def more_decoders():
    """Those that differ from Llama in what is added, multiplied or left out."""
    T = transformers
    sliding_full = ["sliding_attention", "full_attention"]
    decoder("gemma", T.GemmaForCausalLM, T.GemmaConfig(**llama_like(head_dim=8)))
    decoder("gemma_biased", T.GemmaForCausalLM, T.GemmaConfig(
        **llama_like(head_dim=10, attention_bias=True, hidden_act="silu", tie_word_embeddings=False)))
    decoder("smollm3", T.SmolLM3ForCausalLM, T.SmolLM3Config(**llama_like(
        num_hidden_layers=3, no_rope_layer_interval=2, use_sliding_window=True, sliding_window=4, mlp_bias=True)))
    decoder("smollm3_listed", T.SmolLM3ForCausalLM, T.SmolLM3Config(**llama_like(
        no_rope_layers=[0, 1], attention_bias=True, tie_word_embeddings=False)))
    decoder("ernie4_5", T.Ernie4_5ForCausalLM, T.Ernie4_5Config(**llama_like(head_dim=8, use_bias=True)))
    decoder("ernie4_5_plain", T.Ernie4_5ForCausalLM, T.Ernie4_5Config(**llama_like(head_dim=10, tie_word_embeddings=False)))
    decoder("granite", T.GraniteForCausalLM, T.GraniteConfig(**llama_like(
        embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3, logits_scaling=2.5,
        attention_bias=True, mlp_bias=True)))
    decoder("granite_tied", T.GraniteForCausalLM, T.GraniteConfig(**llama_like(
        embedding_multiplier=0.7, logits_scaling=0.5, tie_word_embeddings=True, rms_norm_eps=1e-4)))
    decoder("phi3", T.Phi3ForCausalLM, T.Phi3Config(**llama_like(
        sliding_window=5, partial_rotary_factor=0.75, hidden_size=48, original_max_position_embeddings=64)))
    decoder("phi3_longrope", T.Phi3ForCausalLM, T.Phi3Config(**llama_like(
        hidden_size=48, original_max_position_embeddings=32, rope_parameters=rope(
            "longrope", short_factor=[1.0, 1.5, 2.0, 2.5], long_factor=[2.0, 3.0, 5.0, 6.0]))))
    decoder("olmo", T.OlmoForCausalLM, T.OlmoConfig(**llama_like(attention_bias=True)))
    decoder("olmo_clipped", T.OlmoForCausalLM, T.OlmoConfig(**llama_like(clip_qkv=0.6, tie_word_embeddings=True)))
    decoder("olmo2", T.Olmo2ForCausalLM, T.Olmo2Config(**llama_like(rms_norm_eps=1e-3)))
    layered = dict(sliding_attention=rope("default"), full_attention=rope(
        "yarn", factor=8.0, original_max_position_embeddings=16))
    decoder("olmo3", T.Olmo3ForCausalLM, T.Olmo3Config(**llama_like(
        num_hidden_layers=4, hidden_size=64, sliding_window=4, rope_parameters=layered)), length=48)
    decoder("olmo3_listed", T.Olmo3ForCausalLM, T.Olmo3Config(**llama_like(
        sliding_window=5, layer_types=["full_attention", "sliding_attention"], attention_bias=True)))
    decoder("exaone4", T.Exaone4ForCausalLM, T.Exaone4Config(**llama_like(
        num_hidden_layers=3, sliding_window=4, sliding_window_pattern=3)))
    decoder("exaone4_full", T.Exaone4ForCausalLM, T.Exaone4Config(**llama_like(
        sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True)))
    decoder("glm", T.GlmForCausalLM, T.GlmConfig(**llama_like(head_dim=12)))
    decoder("glm_unbiased", T.GlmForCausalLM, T.GlmConfig(
        **llama_like(head_dim=12, attention_bias=False, partial_rotary_factor=1.0, tie_word_embeddings=True)))
    decoder("glm4", T.Glm4ForCausalLM, T.Glm4Config(**llama_like(head_dim=12)))
    decoder("cohere", T.CohereForCausalLM, T.CohereConfig(**llama_like(logit_scale=0.4, layer_norm_eps=1e-3)))
    decoder("cohere_biased", T.CohereForCausalLM, T.CohereConfig(
        **llama_like(attention_bias=True, tie_word_embeddings=False)))
    decoder("cohere2", T.Cohere2ForCausalLM, T.Cohere2Config(**llama_like(
        num_hidden_layers=3, sliding_window=4, layer_types=sliding_full + ["sliding_attention"])))
    decoder("stablelm", T.StableLmForCausalLM, T.StableLmConfig(**llama_like(hidden_size=48)))
    decoder("stablelm_parallel", T.StableLmForCausalLM, T.StableLmConfig(**llama_like(
        hidden_size=48, use_qkv_bias=True, use_parallel_residual=True, partial_rotary_factor=0.5)))
    decoder("phi", T.PhiForCausalLM, T.PhiConfig(**llama_like(hidden_size=48, layer_norm_eps=1e-3)))
    decoder("starcoder2", T.Starcoder2ForCausalLM, T.Starcoder2Config(**llama_like(sliding_window=5, norm_epsilon=1e-3)))
    decoder("starcoder2_unbiased", T.Starcoder2ForCausalLM, T.Starcoder2Config(
        **llama_like(use_bias=False, tie_word_embeddings=False, hidden_act="relu")))
    neox = dict(vocab_size=vocabulary, hidden_size=48, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=64)
    decoder("gpt_neox", T.GPTNeoXForCausalLM, T.GPTNeoXConfig(**neox, rotary_pct=0.5, rotary_emb_base=300))
    decoder("gpt_neox_serial", T.GPTNeoXForCausalLM, T.GPTNeoXConfig(
        **neox | dict(num_attention_heads=3), use_parallel_residual=False, attention_bias=False, tie_word_embeddings=True,
        hidden_act="gelu_new"))
    bloom = dict(vocab_size=vocabulary, hidden_size=36, n_layer=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    decoder("bloom", T.BloomForCausalLM, T.BloomConfig(**bloom, n_head=4))
    decoder("bloom_normed", T.BloomForCausalLM, T.BloomConfig(
        **bloom, n_head=6, apply_residual_connection_post_layernorm=True, layer_norm_epsilon=1e-3, tie_word_embeddings=False))
    mpt = dict(vocab_size=vocabulary, d_model=36, n_layers=2, max_seq_len=32)
    decoder("mpt", T.MptForCausalLM, T.MptConfig(**mpt, n_heads=6))
    decoder("mpt_scaled", T.MptForCausalLM, T.MptConfig(
        **mpt, n_heads=2, layer_norm_epsilon=1e-3, tie_word_embeddings=False,
        attn_config=dict(softmax_scale=0.7)))
    decoder("mpt_clipped", T.MptForCausalLM, T.MptConfig(**mpt, n_heads=3, attn_config=dict(clip_qkv=0.6)))
    falcon = dict(vocab_size=vocabulary, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, bos_token_id=1,
                  eos_token_id=2, pad_token_id=0, max_position_embeddings=64)
    decoder("falcon", T.FalconForCausalLM, T.FalconConfig(**falcon))
    decoder("falcon_new", T.FalconForCausalLM, T.FalconConfig(
        **falcon, new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=44, bias=True))
    decoder("falcon_plain", T.FalconForCausalLM, T.FalconConfig(**falcon, new_decoder_architecture=True, num_kv_heads=2))
    decoder("falcon_serial", T.FalconForCausalLM, T.FalconConfig(
        **falcon, multi_query=False, parallel_attn=False, tie_word_embeddings=False, activation="relu"))
    decoder("falcon_shared", T.FalconForCausalLM, T.FalconConfig(
        **falcon, new_decoder_architecture=True, num_kv_heads=3, num_ln_in_parallel_attn=1))
    gptj = dict(vocab_size=vocabulary, n_embd=36, n_layer=2, n_head=3, n_positions=32, rotary_dim=8)
    decoder("gptj", T.GPTJForCausalLM, T.GPTJConfig(**gptj))
    decoder("gptj_inner", T.GPTJForCausalLM, T.GPTJConfig(**gptj, n_inner=44, activation_function="relu"))
    neo = dict(vocab_size=vocabulary, hidden_size=36, num_layers=3, num_heads=4, max_position_embeddings=32,
               attention_types=[[["global", "local"], 1], [["local"], 1]], window_size=4)
    decoder("gpt_neo", T.GPTNeoForCausalLM, T.GPTNeoConfig(**neo))
    decoder("gpt_neo_inner", T.GPTNeoForCausalLM, T.GPTNeoConfig(**neo, intermediate_size=44, tie_word_embeddings=False))


moe = {"num_experts_per_tok": 2, "moe_intermediate_size": 20}


def mixtures():
    """Of experts. The routers are wide enough that no choice is a near tie."""
    T = transformers
    decoder("mixtral", T.MixtralForCausalLM, T.MixtralConfig(**llama_like(
        head_dim=10, num_local_experts=4, num_experts_per_tok=2, sliding_window=4, tie_word_embeddings=False)))
    decoder("mixtral_plain", T.MixtralForCausalLM, T.MixtralConfig(**llama_like(num_local_experts=3)))
    decoder("qwen2_moe", T.Qwen2MoeForCausalLM, T.Qwen2MoeConfig(**llama_like(
        num_hidden_layers=3, num_experts=6, shared_expert_intermediate_size=28, mlp_only_layers=[1], norm_topk_prob=True,
        qkv_bias=False, use_sliding_window=True, sliding_window=4, max_window_layers=1, **moe)))
    decoder("qwen2_moe_plain", T.Qwen2MoeForCausalLM, T.Qwen2MoeConfig(**llama_like(
        num_experts=5, shared_expert_intermediate_size=24, tie_word_embeddings=False, **moe)))
    decoder("qwen3_moe", T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig(**llama_like(
        head_dim=8, num_hidden_layers=3, num_experts=6, decoder_sparse_step=2, attention_bias=True, **moe)))
    decoder("qwen3_moe_plain", T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig(**llama_like(
        head_dim=8, num_experts=8, norm_topk_prob=True, **(moe | {"num_experts_per_tok": 3}))))
    decoder("olmoe", T.OlmoeForCausalLM, T.OlmoeConfig(**llama_like(num_experts=6, num_experts_per_tok=3)))
    decoder("olmoe_normalized", T.OlmoeForCausalLM, T.OlmoeConfig(**llama_like(
        num_experts=4, num_experts_per_tok=2, norm_topk_prob=True, attention_bias=True, tie_word_embeddings=False)))
    ernie = lambda **more: T.Ernie4_5_MoeConfig(**llama_like(
        num_hidden_layers=4, moe_num_experts=6, moe_k=2, moe_intermediate_size=11) | more)
    decoder("ernie4_5_moe", T.Ernie4_5_MoeForCausalLM, ernie(
        head_dim=8, use_bias=True, moe_layer_end_index=2, moe_num_shared_experts=1, hidden_act="gelu"))
    decoder("ernie4_5_moe_unshared", T.Ernie4_5_MoeForCausalLM, ernie(
        moe_layer_start_index=0, moe_layer_end_index=3, moe_num_shared_experts=0, moe_k=3, tie_word_embeddings=False))
    decoder("ernie4_5_moe_plain", T.Ernie4_5_MoeForCausalLM, ernie(moe_layer_start_index=2, moe_layer_interval=2))
    decoder("granitemoe", T.GraniteMoeForCausalLM, T.GraniteMoeConfig(**llama_like(
        num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0, residual_multiplier=0.4,
        attention_multiplier=0.3, logits_scaling=2.5)))


def seeing_decoders():
    """Which read texts alone here."""
    T = transformers
    axes = lambda **more: rope("default", mrope_section=[1, 1, 2], **more)
    patches = dict(depth=1, patch_size=4, num_heads=2)
    decoder("gemma3_whole", T.Gemma3ForConditionalGeneration, T.Gemma3Config(
        text_config=llama_like(head_dim=8, query_pre_attn_scalar=12, sliding_window=4,
                               layer_types=["sliding_attention", "full_attention"]),
        vision_config=dict(hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2, image_size=16,
                           patch_size=4), mm_tokens_per_image=4, image_token_index=50, boi_token_index=51,
        eoi_token_index=52))
    decoder("mistral3_whole", T.Mistral3ForConditionalGeneration, T.Mistral3Config(
        text_config=llama_like(model_type="mistral", head_dim=8, sliding_window=None), tie_word_embeddings=False,
        vision_config=dict(model_type="pixtral", hidden_size=16, intermediate_size=20, num_hidden_layers=1,
                           num_attention_heads=2, head_dim=8, image_size=16, patch_size=4), image_token_index=50))
    qwen2 = llama_like(hidden_size=48, use_sliding_window=True, sliding_window=4, max_window_layers=1,
                       rope_parameters=axes())
    decoder("qwen2_vl", T.Qwen2VLForConditionalGeneration, T.Qwen2VLConfig(
        text_config=qwen2, vision_config=patches | dict(embed_dim=16, hidden_size=48)))
    decoder("qwen2_5_vl", T.Qwen2_5_VLForConditionalGeneration, T.Qwen2_5_VLConfig(
        text_config=qwen2 | dict(use_sliding_window=False), tie_word_embeddings=True,
        vision_config=patches | dict(hidden_size=16, intermediate_size=20, out_hidden_size=48)))
    if is_wanted("qwen2_5_vl"):
        as_published(here / "qwen2_5_vl")
    qwen3 = dict(text_config=llama_like(head_dim=8, rope_parameters=axes(mrope_interleaved=True)),
                 vision_config=patches | dict(hidden_size=16, intermediate_size=20, out_hidden_size=36,
                                              num_position_embeddings=16, deepstack_visual_indexes=[0]))
    decoder("qwen3_vl", T.Qwen3VLForConditionalGeneration, T.Qwen3VLConfig(**qwen3))
    mixed = lambda **more: T.Qwen3VLMoeConfig(**qwen3 | dict(text_config=qwen3["text_config"] | dict(
        num_experts=5, num_experts_per_tok=2, moe_intermediate_size=10, **more)))
    decoder("qwen3_vl_moe", T.Qwen3VLMoeForConditionalGeneration, mixed(
        num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3], attention_bias=True, hidden_act="gelu"))
    decoder("qwen3_vl_moe_plain", T.Qwen3VLMoeForConditionalGeneration, mixed(), dtype=torch.float32)
    if is_wanted("qwen3_vl_moe_plain"):
        turn_experts(here / "qwen3_vl_moe_plain")


def turn_experts(folder):
    """Matrices of experts as published files of Qwen3-VL have them, inputs x outputs."""
    file = folder / "model.safetensors"
    tensors = {name: tensor.transpose(1, 2).contiguous() if ".experts." in name else tensor
               for name, tensor in load_file(file).items()}
    save_file(tensors, file, metadata={"format": "pt"})


def as_published(folder):
    """Settings for texts beside those for images, and with older names."""
    config = json.loads((folder / "config.json").read_text())
    texts = config.pop("text_config")
    scaling = texts.pop("rope_parameters")
    del texts["layer_types"]
    config = texts | config | {"rope_theta": scaling.pop("rope_theta"), "rope_scaling": {
        "type": "mrope", "mrope_section": scaling["mrope_section"]}}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def for_gguf():
    """What make_gguf.py makes GGUF files of: without settings that these cannot express. Gemma's norms stay as exact."""
    T, plain = transformers, torch.float32
    decoder("gpt_neox_plain", T.GPTNeoXForCausalLM, T.GPTNeoXConfig(
        vocab_size=vocabulary, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=44,
        max_position_embeddings=32, rotary_pct=0.5, use_parallel_residual=False, bos_token_id=1, eos_token_id=2))
    decoder("gemma_plain", T.GemmaForCausalLM, T.GemmaConfig(**llama_like(head_dim=8)), dtype=plain)
    decoder("gemma2_plain", T.Gemma2ForCausalLM, T.Gemma2Config(
        **llama_like(head_dim=8, query_pre_attn_scalar=8, sliding_window=4, attn_logit_softcapping=5.0,
                     final_logit_softcapping=3.0)), dtype=plain)
    decoder("gemma3_plain", T.Gemma3ForCausalLM, T.Gemma3TextConfig(**llama_like(
        head_dim=8, query_pre_attn_scalar=8, sliding_window=4, num_hidden_layers=6)), dtype=plain)
    decoder("cohere2_plain", T.Cohere2ForCausalLM, T.Cohere2Config(**llama_like(
        num_hidden_layers=4, sliding_window=4, rotary_pct=1.0)))
    decoder("phi_plain", T.PhiForCausalLM, T.PhiConfig(**llama_like(
        hidden_size=48, intermediate_size=192, num_key_value_heads=6, partial_rotary_factor=0.5)))
    decoder("smollm3_plain", T.SmolLM3ForCausalLM, T.SmolLM3Config(**llama_like(num_hidden_layers=4)))
    decoder("starcoder2_plain", T.Starcoder2ForCausalLM, T.Starcoder2Config(**llama_like(norm_epsilon=1e-3)))
