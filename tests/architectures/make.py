"""Writes tiny random models of every architecture with the PyPI package transformers, and their outputs.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors gguf
    venv/bin/python tests/architectures/make.py            writes all of models/
    venv/bin/python tests/architectures/make.py gpt2 bert  writes those whose names begin with gpt2 or bert

models/NAME has the files of save_pretrained(), or model.gguf, and golden.safetensors: a record of inputs and outputs of
Lamina's graphs, as `lamina compare --with` takes it. Sizes are uneven on purpose. Weights are stored in half precision and
computed with in double, so that only the stored outputs are rounded.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

from randomized import is_computed, randomized

here = pathlib.Path(__file__).parent / "models"
vocabulary = 53


def is_wanted(name):
    return len(sys.argv) == 1 or any(name.startswith(start) for start in sys.argv[1:])


def save_golden(folder, graphs):
    """`graphs`: {name: (inputs, outputs)}, in the order in which they run."""
    as_stored = lambda v: (v.to(torch.float32) if v.is_floating_point() else v.to(torch.int32)).contiguous()
    tensors = {f"{kind}.{graph}.{name}": as_stored(value) for graph, both in graphs.items()
               for kind, values in zip(("in", "out"), both) for name, value in values.items()}
    save_file(tensors, folder / "golden.safetensors",
              metadata={"graphs": " ".join(graphs), "made_by": "transformers " + transformers.__version__})


def save(name, model, graphs, dtype=torch.float16):
    """Saves the model and its golden file, and returns whether it was selected. `graphs`: {name: (inputs, the outputs as a
    function of the model in double)}."""
    if not is_wanted(name):
        return False
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}  # frequencies: never in half precision
    buffers |= {name: torch.nn.Parameter(p.clone()) for name, p in model.named_parameters() if is_computed(model, name)}
    model = randomized(model, torch.float64).to(dtype).eval()
    model.save_pretrained(folder)
    if not model.config.is_encoder_decoder:
        (folder / "generation_config.json").unlink(missing_ok=True)
    model.to(torch.float64)
    for name, buffer in buffers.items():
        module, _, last = name.rpartition(".")
        setattr(model.get_submodule(module), last, buffer)
    with torch.no_grad():
        save_golden(folder, {graph: (inputs, outputs(model)) for graph, (inputs, outputs) in graphs.items()})
    return True


def ids(batch, length):
    return torch.randint(3, vocabulary, (batch, length))


# ---- Decoders ----

def decoder(name, model_class, config, length=13, dtype=torch.float16, recurrent=False):
    tokens = ids(2, length)
    config._attn_implementation = "eager"  # the other implementations ignore the soft cap
    config._experts_implementation = "eager"  # the other implementations do not compute in float64
    inputs = {"ids": tokens, "position": torch.zeros(2, dtype=torch.int32)}
    if recurrent:
        inputs["target_lengths"] = torch.full((2,), length, dtype=torch.int32)
    save(name, model_class(config), {"decode": (inputs, lambda m: {"logits": m(input_ids=tokens).logits})}, dtype)


def llama_like(**more):
    return dict(vocab_size=vocabulary, hidden_size=36, intermediate_size=44, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0) | more


def rope(kind, **more):
    return {"rope_type": kind, "rope_theta": 500.0} | more


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
    decoder("olmo2", T.Olmo2ForCausalLM, T.Olmo2Config(**llama_like(rms_norm_eps=1e-3)))
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
    falcon = dict(vocab_size=vocabulary, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, bos_token_id=1,
                  eos_token_id=2, pad_token_id=0, max_position_embeddings=64)
    decoder("falcon", T.FalconForCausalLM, T.FalconConfig(**falcon))
    decoder("falcon_new", T.FalconForCausalLM, T.FalconConfig(
        **falcon, new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=44, bias=True))
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


def mixtures():
    """Of experts. The routers are wide enough that no choice is a near tie."""
    T = transformers
    moe = {"num_experts_per_tok": 2, "moe_intermediate_size": 20}
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
    recurrent_decoders(moe)
    gpt_oss()
    lfm2()
    decoder("olmoe", T.OlmoeForCausalLM, T.OlmoeConfig(**llama_like(num_experts=6, num_experts_per_tok=3)))
    decoder("olmoe_normalized", T.OlmoeForCausalLM, T.OlmoeConfig(**llama_like(
        num_experts=4, num_experts_per_tok=2, norm_topk_prob=True, attention_bias=True, tie_word_embeddings=False)))
    decoder("granitemoe", T.GraniteMoeForCausalLM, T.GraniteMoeConfig(**llama_like(
        num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0, residual_multiplier=0.4,
        attention_multiplier=0.3, logits_scaling=2.5)))


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


def recurrent_decoders(moe):
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
        text_config=llama_like(**linear), vision_config=seeing, tie_word_embeddings=True), recurrent=True)
    decoder("qwen3_5_moe_whole", T.Qwen3_5MoeForConditionalGeneration, T.Qwen3_5MoeConfig(
        text_config=llama_like(**mixture), vision_config=seeing), recurrent=True)


def for_gguf():
    """What make_gguf.py makes GGUF files of: without settings that these cannot express. Gemma's norms stay as exact."""
    T, plain = transformers, torch.float32
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


# ---- GGUF ----

gguf_names = {  # github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def interleaved(matrix, heads):
    """Permutes the rows of each head from halves (0 1 2 | 3 4 5) to pairs (0 3 | 1 4 | 2 5), as `llama` in GGUF does."""
    return matrix.reshape(heads, 2, -1, *matrix.shape[1:]).swapaxes(1, 2).reshape(matrix.shape)


def as_gguf(name, source):
    """Writes the model in models/SOURCE as a GGUF file. Its golden.safetensors is the same."""
    import gguf
    config = json.loads((here / source / "config.json").read_text())
    kind, heads, kv_heads = config["model_type"], config["num_attention_heads"], config["num_key_value_heads"]
    shutil.rmtree(here / name, ignore_errors=True)
    (here / name).mkdir()
    shutil.copy(here / source / "golden.safetensors", here / name)
    writer = gguf.GGUFWriter(here / name / "model.gguf", kind)
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "llama3":  # what frequencies are divided by, as the converter of llama.cpp writes it
        model = transformers.AutoModelForCausalLM.from_pretrained(here / source)
        plain = rope["rope_theta"] ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        writer.add_tensor("rope_freqs.weight", (plain / model.model.rotary_emb.inv_freq).to(torch.float32).numpy())
    for tensor, values in load_file(here / source / "model.safetensors").items():
        values = values.to(torch.float32).numpy()
        module, suffix = tensor.rsplit(".", 1)
        prefix = ""
        if module.startswith("model.layers."):
            number, module = module.removeprefix("model.layers.").split(".", 1)
            prefix = f"blk.{number}."
        if kind == "llama" and module in ("self_attn.q_proj", "self_attn.k_proj"):
            values = interleaved(values, heads if module.endswith("q_proj") else kv_heads)
        half = values.ndim == 2
        writer.add_tensor(f"{prefix}{gguf_names[module]}.{suffix}", values.astype("float16") if half else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- Encoders ----

def encoder(name, model, outputs, types=0, length=11):
    tokens, lengths = ids(3, length), torch.tensor([length, 4, 7])
    mask = torch.arange(length)[None] < lengths[:, None]
    tokens = tokens * mask + model.config.pad_token_id * ~mask
    kinds = torch.randint(0, max(types, 1), tokens.shape)
    given = {"ids": tokens, "lengths": lengths} | ({"token_types": kinds} if types else {})

    def run(m):
        more = {"token_type_ids": kinds} if types else {}
        results = outputs(m(input_ids=tokens, attention_mask=mask.to(torch.int64), **more))
        # Values after the end of a sequence are meaningless in both.
        return {k: v * mask[:, :, None] if v.dim() == 3 else v for k, v in results.items()}

    save(name, model, {"encode": (given, run)})


def other_heads(name, model, outputs, other, types=0, old=False):
    """A file that also holds what another class has, and with `old` the names of LayerNorm's weights in TensorFlow."""
    encoder(name, model, outputs, types)
    if not is_wanted(name):
        return
    file = here / name / "model.safetensors"
    tensors = load_file(file)
    for tensor, values in other(model.config).state_dict().items():
        if tensor not in tensors:
            tied = model.all_tied_weights_keys.get(tensor)  # transformers ties only what is the same
            tensors[tensor] = tensors[tied].clone() if tied else torch.randn(values.shape).to(torch.float16)
    if old:
        change = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        for new, first in change.items():
            tensors = {t.replace(new, first): v for t, v in tensors.items()}
        tensors = {"module." + t: v for t, v in tensors.items()}
        tensors["module.bert.embeddings.position_ids"] = torch.arange(32)[None]
    save_file(tensors, file, metadata={"format": "pt"})


def encoders():
    T = transformers
    sizes = dict(vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=4, intermediate_size=44,
                 max_position_embeddings=32, pad_token_id=0)
    bert = lambda **more: T.BertConfig(**sizes | more)
    hidden = lambda r: {"hidden": r.last_hidden_state, "pooled": r.pooler_output}
    logits = lambda r: {"logits": r.logits}
    answers = lambda r: {"logits": torch.stack([r.start_logits, r.end_logits], -1)}
    encoder("bert", T.BertModel(bert()), hidden, types=2)
    encoder("bert_relu", T.BertModel(bert(hidden_act="relu", layer_norm_eps=1e-5)), hidden, types=2)
    encoder("bert_texts", T.BertForSequenceClassification(bert(num_labels=3)), logits, types=2)
    encoder("bert_tokens", T.BertForTokenClassification(bert(num_labels=5)), logits, types=2)
    encoder("bert_masked", T.BertForMaskedLM(bert()), logits, types=2)
    encoder("bert_score", T.BertForSequenceClassification(bert(num_labels=1)), logits, types=2)
    other_heads("bert_tokens_pooled", T.BertForTokenClassification(bert(num_labels=5)), logits, T.BertForPreTraining, types=2)
    other_heads("bert_old", T.BertForMaskedLM(bert()), logits, T.BertForPreTraining, types=2, old=True)
    encoder("bert_answers", T.BertForQuestionAnswering(bert()), answers, types=2)
    roberta = lambda **more: T.RobertaConfig(**sizes | dict(type_vocab_size=1, pad_token_id=1) | more)
    encoder("roberta", T.RobertaModel(roberta()), hidden, types=1)
    encoder("roberta_texts", T.RobertaForSequenceClassification(roberta(num_labels=3)), logits, types=1)
    encoder("roberta_masked", T.RobertaForMaskedLM(roberta()), logits, types=1)
    other_heads("roberta_tokens", T.RobertaForTokenClassification(roberta(num_labels=3)), logits,
                T.RobertaForMaskedLM, types=1)
    encoder("roberta_answers", T.RobertaForQuestionAnswering(roberta()), answers, types=1)
    distil = lambda **more: T.DistilBertConfig(**dict(vocab_size=vocabulary, dim=36, n_layers=2, n_heads=4, hidden_dim=44,
                                                      max_position_embeddings=32) | more)
    encoder("distilbert", T.DistilBertModel(distil()), lambda r: {"hidden": r.last_hidden_state})
    encoder("distilbert_texts", T.DistilBertForSequenceClassification(distil(num_labels=3)), logits)
    encoder("distilbert_masked", T.DistilBertForMaskedLM(distil()), logits)
    other_heads("distilbert_tokens", T.DistilBertForTokenClassification(distil(num_labels=4)), logits,
                T.DistilBertForSequenceClassification)
    encoder("distilbert_answers", T.DistilBertForQuestionAnswering(distil()), answers)
    more_encoders(sizes, hidden, logits, answers)
    sentences()
    reading_decoders()


def more_encoders(sizes, hidden, logits, answers):
    T = transformers
    camembert = dict(type_vocab_size=1, pad_token_id=1)
    encoder("camembert", T.CamembertForMaskedLM(T.CamembertConfig(**sizes | camembert)), logits, types=1)
    encoder("camembert_tokens", T.CamembertForTokenClassification(T.CamembertConfig(**sizes | camembert, num_labels=3)),
            logits, types=1)
    bare = lambda r: {"hidden": r.last_hidden_state}
    electra = lambda **more: T.ElectraConfig(**sizes | dict(embedding_size=20) | more)
    encoder("electra", T.ElectraModel(electra(embedding_size=36, hidden_act="relu")), bare, types=2)
    encoder("electra_masked", T.ElectraForMaskedLM(electra()), logits, types=2)
    encoder("electra_texts", T.ElectraForSequenceClassification(electra(num_labels=3)), logits, types=2)
    encoder("electra_answers", T.ElectraForQuestionAnswering(electra()), answers, types=2)
    encoder("electra_found", T.ElectraForPreTraining(electra(output_hidden_states=True)),
            lambda r: {"hidden": r.hidden_states[-1]}, types=2)
    mpnet = lambda **more: T.MPNetConfig(**sizes | dict(pad_token_id=1, max_position_embeddings=80) | more)
    encoder("mpnet", T.MPNetModel(mpnet()), hidden, length=70)
    encoder("mpnet_masked", T.MPNetForMaskedLM(mpnet(relative_attention_num_buckets=40)), logits)
    encoder("mpnet_texts", T.MPNetForSequenceClassification(mpnet(num_labels=3, hidden_act="relu")), logits)
    encoder("mpnet_tokens", T.MPNetForTokenClassification(mpnet(num_labels=3)), logits)
    modern = lambda **more: T.ModernBertConfig(**sizes | dict(
        num_attention_heads=3, local_attention=6, global_attn_every_n_layers=2, num_hidden_layers=3,
        cls_token_id=1, sep_token_id=2) | more)
    encoder("modernbert", T.ModernBertModel(modern()), bare)
    encoder("modernbert_masked", T.ModernBertForMaskedLM(modern(norm_bias=True, attention_bias=True, mlp_bias=True)), logits)
    encoder("modernbert_unbiased", T.ModernBertForMaskedLM(modern(
        decoder_bias=False, classifier_bias=True, tie_word_embeddings=False, classifier_activation="relu")), logits)
    encoder("modernbert_texts", T.ModernBertForSequenceClassification(modern(
        num_labels=3, classifier_pooling="mean", hidden_activation="silu")), logits)
    encoder("modernbert_first", T.ModernBertForSequenceClassification(modern(
        num_labels=3, norm_eps=1e-3, layer_types=["sliding_attention"] * 3)), logits)
    encoder("modernbert_tokens", T.ModernBertForTokenClassification(modern(num_labels=3, rope_parameters={
        "full_attention": rope("default"), "sliding_attention": rope("linear", factor=2.0)})), logits)
    encoder("modernbert_answers", T.ModernBertForQuestionAnswering(modern(num_labels=2)), answers)
    nomic = lambda **more: T.NomicBertConfig(**sizes | dict(num_attention_heads=3) | more)
    encoder("nomic_bert", T.NomicBertModel(nomic()), bare, types=2)
    encoder("nomic_bert_masked", T.NomicBertForMaskedLM(nomic(hidden_act="gelu", head_dim=10)), logits, types=2)
    encoder("nomic_bert_texts", T.NomicBertForSequenceClassification(nomic(num_labels=3)), logits, types=2)
    encoder("nomic_bert_tokens", T.NomicBertForTokenClassification(nomic(num_labels=3)), logits, types=2)
    gte = lambda **more: T.GteConfig(**sizes | dict(num_attention_heads=3, type_vocab_size=0) | more)
    encoder("gte", T.GteModel(gte()), bare)
    encoder("gte_masked", T.GteForMaskedLM(gte(type_vocab_size=2)), logits, types=2)
    encoder("gte_texts", T.GteForSequenceClassification(gte(num_labels=1, hidden_act="silu")), logits)
    albert = lambda **more: T.AlbertConfig(**sizes | dict(embedding_size=20, num_hidden_layers=3) | more)
    encoder("albert", T.AlbertModel(albert(num_hidden_groups=2)), hidden, types=2)
    encoder("albert_masked", T.AlbertForMaskedLM(albert(inner_group_num=2, hidden_act="gelu")), logits, types=2)
    encoder("albert_texts", T.AlbertForSequenceClassification(albert(num_labels=3)), logits, types=2)
    encoder("albert_tokens", T.AlbertForTokenClassification(albert(num_labels=3)), logits, types=2)
    encoder("albert_answers", T.AlbertForQuestionAnswering(albert(embedding_size=36)), answers, types=2)


def reading_decoders():
    """Decoders that classify texts or tokens, and some without any head."""
    T = transformers
    logits, hidden = lambda r: {"logits": r.logits}, lambda r: {"hidden": r.last_hidden_state}
    gpt2 = dict(vocab_size=vocabulary, n_embd=36, n_layer=2, n_head=4, n_positions=32, pad_token_id=0)
    encoder("gpt2_texts", T.GPT2ForSequenceClassification(T.GPT2Config(**gpt2, num_labels=3)), logits)
    encoder("gpt2_tokens", T.GPT2ForTokenClassification(T.GPT2Config(**gpt2, num_labels=3)), logits)
    encoder("llama_texts", T.LlamaForSequenceClassification(T.LlamaConfig(**llama_like(num_labels=3))), logits)
    encoder("qwen2_score", T.Qwen2ForSequenceClassification(T.Qwen2Config(**llama_like(num_labels=1))), logits)
    encoder("qwen3_tokens", T.Qwen3ForTokenClassification(T.Qwen3Config(**llama_like(head_dim=8, num_labels=4))), logits)
    encoder("qwen3_headless", T.Qwen3Model(T.Qwen3Config(**llama_like(head_dim=8))), hidden)
    gemma = llama_like(head_dim=8, query_pre_attn_scalar=12, sliding_window=4, num_labels=2)
    encoder("gemma3_texts", T.Gemma3TextForSequenceClassification(T.Gemma3TextConfig(**gemma)), logits)
    granite = T.GraniteConfig(**llama_like(residual_multiplier=0.4, logits_scaling=2.5))
    encoder("granite_headless", T.GraniteModel(granite), hidden)
    encoder("phi3_tokens", T.Phi3ForTokenClassification(T.Phi3Config(**llama_like(
        hidden_size=48, num_labels=3, original_max_position_embeddings=64))), logits)
    encoder("cohere2_headless", T.Cohere2Model(T.Cohere2Config(**llama_like(sliding_window=4))), hidden)
    neox = T.GPTNeoXConfig(vocab_size=vocabulary, hidden_size=48, intermediate_size=44, num_hidden_layers=2,
                           num_attention_heads=3, max_position_embeddings=64, pad_token_id=0, num_labels=3)
    encoder("gpt_neox_texts", T.GPTNeoXForSequenceClassification(neox), logits)
    encoder("gpt_neox_tokens", T.GPTNeoXForTokenClassification(neox), logits)
    bloom = dict(vocab_size=vocabulary, hidden_size=36, n_layer=2, n_head=3, pad_token_id=0, num_labels=3)
    encoder("bloom_texts", T.BloomForSequenceClassification(T.BloomConfig(**bloom)), logits)
    encoder("bloom_tokens", T.BloomForTokenClassification(T.BloomConfig(**bloom)), logits)
    encoder("falcon_tokens", T.FalconForTokenClassification(T.FalconConfig(
        vocab_size=vocabulary, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, pad_token_id=0, num_labels=3)),
        logits)
    encoder("t5_encoder", T.T5EncoderModel(T.T5Config(
        vocab_size=vocabulary, d_model=36, d_kv=10, d_ff=44, num_layers=2, num_heads=3, pad_token_id=0,
        relative_attention_num_buckets=8, relative_attention_max_distance=6)), hidden)
    encoder("opt_texts", T.OPTForSequenceClassification(T.OPTConfig(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=1, num_attention_heads=4, ffn_dim=44, num_labels=3,
        max_position_embeddings=32, word_embed_proj_dim=36)), logits)


def sentences():
    """A folder as written by sentence-transformers: a BERT, mean pooling, normalization to length 1."""
    encoder("sentences", transformers.BertModel(transformers.BertConfig(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=1, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=32), add_pooling_layer=False), lambda r: {"hidden": r.last_hidden_state}, types=2)
    if not is_wanted("sentences"):
        return
    folder = here / "sentences"
    module = "sentence_transformers.models."
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": module + "Normalize"}]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": 36, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
         "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}))
    tensors = load_file(folder / "golden.safetensors")
    inputs, outputs = ({name.removeprefix(kind): value for name, value in tensors.items() if name.startswith(kind)}
                       for kind in ("in.encode.", "out.encode."))
    mean = outputs["hidden"].to(torch.float64).sum(1) / inputs["lengths"][:, None]  # zeros after the ends
    save_golden(folder, {"encode": (inputs, outputs | {"embedding": torch.nn.functional.normalize(mean)})})


# ---- Encoder-decoders ----

def encoder_decoder(name, model, target_vocabulary=vocabulary):
    source, lengths, target = ids(3, 11), torch.tensor([11, 4, 7]), ids(3, 9) % target_vocabulary
    mask = torch.arange(11)[None] < lengths[:, None]
    run = lambda m: m(input_ids=source, attention_mask=mask.to(torch.int64), decoder_input_ids=target)
    save(name, model, {
        "encode": ({"ids": source, "lengths": lengths},
                   lambda m: {"hidden": run(m).encoder_last_hidden_state * mask[:, :, None]}),
        "decode": ({"ids": target, "lengths": lengths, "position": torch.zeros(3, dtype=torch.int32)},
                   lambda m: {"logits": run(m).logits})})


def t5(**more):
    """With more tokens than relative_attention_max_distance, and heads whose total width differs from the model's."""
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**dict(
        vocab_size=vocabulary, d_model=36, d_kv=10, d_ff=44, num_layers=2, num_decoder_layers=1, num_heads=3,
        relative_attention_num_buckets=8, relative_attention_max_distance=6, decoder_start_token_id=0) | more))


def marian(**more):
    """The lengths of heads differ in the encoder and the decoder."""
    model = transformers.MarianMTModel(transformers.MarianConfig(**dict(
        vocab_size=vocabulary, d_model=36, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=6, encoder_ffn_dim=44, decoder_ffn_dim=52, max_position_embeddings=32,
        activation_function="swish", scale_embedding=True, pad_token_id=46, decoder_start_token_id=46) | more))
    bias = torch.randn(model.final_logits_bias.shape).to(torch.float16)
    model.final_logits_bias = torch.nn.Buffer(bias.to(torch.float32))
    return model


def bart_like(kind, **more):
    """As marian() for other types that are built alike."""
    model_class, config = {"bart": (transformers.BartForConditionalGeneration, transformers.BartConfig),
                           "mbart": (transformers.MBartForConditionalGeneration, transformers.MBartConfig),
                           "m2m_100": (transformers.M2M100ForConditionalGeneration, transformers.M2M100Config),
                           "pegasus": (transformers.PegasusForConditionalGeneration, transformers.PegasusConfig)}[kind]
    model = model_class(config(**dict(
        vocab_size=vocabulary, d_model=36, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=6, encoder_ffn_dim=44, decoder_ffn_dim=52, max_position_embeddings=32, pad_token_id=1,
        bos_token_id=0, eos_token_id=2, decoder_start_token_id=2) | more))
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias = torch.nn.Buffer(torch.randn(model.final_logits_bias.shape).to(torch.float16).float())
    return model


def encoder_decoders():
    encoder_decoder("bart", bart_like("bart"))
    encoder_decoder("bart_untied", bart_like("bart", tie_word_embeddings=False, scale_embedding=True,
                                             activation_function="relu"))
    encoder_decoder("mbart", bart_like("mbart", scale_embedding=True))
    encoder_decoder("mbart_relu", bart_like("mbart", activation_function="relu"))
    encoder_decoder("m2m_100", bart_like("m2m_100"))
    encoder_decoder("m2m_100_unscaled", bart_like("m2m_100", scale_embedding=False, pad_token_id=0, bos_token_id=1))
    encoder_decoder("pegasus", bart_like("pegasus", activation_function="relu", scale_embedding=True))
    encoder_decoder("t5", t5(num_decoder_layers=3))
    own_head = t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False)  # as T5 1.1, which transformers 5 ties
    own_head.lm_head.weight = torch.nn.Parameter(torch.zeros(vocabulary, 36))
    encoder_decoder("t5_gated", own_head)
    encoder_decoder("t5_unscaled", t5(feed_forward_proj="gated-silu", tie_word_embeddings=False))
    sizes = dict(vocab_size=vocabulary, d_model=36, d_kv=10, d_ff=44, num_layers=2, num_decoder_layers=1, num_heads=3,
                 relative_attention_num_buckets=8, relative_attention_max_distance=6, decoder_start_token_id=0)
    mt5 = transformers.MT5ForConditionalGeneration(transformers.MT5Config(**sizes))
    mt5.lm_head.weight = torch.nn.Parameter(torch.zeros(vocabulary, 36))
    encoder_decoder("mt5", mt5)
    encoder_decoder("mt5_relu", transformers.MT5ForConditionalGeneration(transformers.MT5Config(
        **sizes, feed_forward_proj="relu")))
    encoder_decoder("marian", marian())
    two_vocabularies = dict(share_encoder_decoder_embeddings=False, decoder_vocab_size=47)
    encoder_decoder("marian_two", marian(activation_function="relu", scale_embedding=False, **two_vocabularies), 47)
    encoder_decoder("marian_untied", marian(tie_word_embeddings=False, activation_function="gelu", **two_vocabularies), 47)
    whispers()


def whisper(name, generation=None, **more):
    """Sound of a length for max_source_positions: two frames of 160 samples each."""
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**dict(
        vocab_size=vocabulary, num_mel_bins=7, d_model=36, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=6, encoder_ffn_dim=44, decoder_ffn_dim=52, max_source_positions=11,
        max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        begin_suppress_tokens=None) | more))
    samples, target = torch.randn(2, 2 * 160 * 11) * 0.3, ids(2, 9)
    features = transformers.WhisperFeatureExtractor(feature_size=7)._np_extract_fbank_features(samples.numpy(), "cpu")
    features = torch.tensor(features, dtype=torch.float64)
    run = lambda m: m(input_features=features, decoder_input_ids=target)
    saved = save(name, model, {
        "encode": ({"samples": samples}, lambda m: {"hidden": run(m).encoder_last_hidden_state}),
        "decode": ({"ids": target, "position": torch.zeros(2, dtype=torch.int32)}, lambda m: {"logits": run(m).logits})})
    if saved and generation:
        (here / name / "generation_config.json").write_text(json.dumps(generation))


def whispers():
    ends = {"decoder_start_token_id": 3, "eos_token_id": 2, "suppress_tokens": [9, 11], "begin_suppress_tokens": [7, 2]}
    whisper("whisper", ends | {
        "is_multilingual": True, "lang_to_id": {"<|en|>": 20, "<|de|>": 21, "<|fr|>": 22},
        "task_to_id": {"transcribe": 30, "translate": 31}, "no_timestamps_token_id": 32,
        "forced_decoder_ids": [[1, None], [2, 30]]})
    whisper("whisper_untied", activation_function="relu", tie_word_embeddings=False)


if __name__ == "__main__":
    torch.manual_seed(7)
    decoders()
    mixtures()
    for_gguf()
    encoders()
    encoder_decoders()
    for name, source in {"gguf_llama": "llama", "gguf_llama3": "llama_llama3", "gguf_qwen2": "qwen2_full",
                         "gguf_qwen3": "qwen3_plain"}.items():
        if is_wanted(name):
            as_gguf(name, source)
