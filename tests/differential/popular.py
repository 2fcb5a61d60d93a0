"""Tiny models in the shape of popular ones: their config.json with smaller sizes, and the names of their tensors."""

import torch
import transformers

from models import POSITIONS, VOCABULARY, Base, Mixture, Seeing, published_encoder

BERT = dict(hidden_size=24, intermediate_size=20, max_position_embeddings=POSITIONS, num_attention_heads=4,
            num_hidden_layers=2, vocab_size=VOCABULARY)
LLAMA = BERT | dict(num_key_value_heads=2)
MARIAN = dict(d_model=24, decoder_attention_heads=3, decoder_ffn_dim=20, decoder_layers=2, encoder_attention_heads=3,
              encoder_ffn_dim=20, encoder_layers=2, num_hidden_layers=2, max_position_embeddings=POSITIONS,
              vocab_size=VOCABULARY, decoder_vocab_size=VOCABULARY, bad_words_ids=[[29]], pad_token_id=9,
              decoder_start_token_id=9)
WHISPER = dict(d_model=24, decoder_attention_heads=3, decoder_ffn_dim=20, decoder_layers=2, encoder_attention_heads=3,
               encoder_ffn_dim=20, encoder_layers=2, num_hidden_layers=2, num_mel_bins=4, max_source_positions=11,
               max_target_positions=24, vocab_size=VOCABULARY, pad_token_id=2, bos_token_id=2, eos_token_id=2,
               decoder_start_token_id=3, suppress_tokens=[1, 4], begin_suppress_tokens=[5, 2],
               forced_decoder_ids=[[1, 6], [2, 7], [3, 8]])
POSITION_IDS = "embeddings.position_ids"


def gamma_beta(name):
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def without(prefix):
    return lambda name: name.removeprefix(prefix)


def labels(names):
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {name: i for i, name in enumerate(names)}}


def pooler(prefix):
    return {prefix + "pooler.dense.weight": [24, 24], prefix + "pooler.dense.bias": [24]}


def encoders():
    bert = dict(attention_probs_dropout_prob=0.1, hidden_act="gelu", hidden_dropout_prob=0.1, initializer_range=0.02,
                layer_norm_eps=1e-12, model_type="bert", pad_token_id=0, position_embedding_type="absolute",
                type_vocab_size=2, use_cache=True) | BERT
    yield "all-MiniLM-L6-v2", bert | dict(_name_or_path="nreimers/MiniLM-L6-H384-uncased", architectures=["BertModel"],
                                          gradient_checkpointing=False, transformers_version="4.8.2"), dict(
        extra={POSITION_IDS: [1, POSITIONS]})
    yield "bert-base-uncased", bert | dict(architectures=["BertForMaskedLM"], gradient_checkpointing=False,
                                           transformers_version="4.6.0.dev0"), dict(
        rename=gamma_beta, extra=pooler("bert.") | {"cls.seq_relationship.weight": [2, 24], "cls.seq_relationship.bias": [2]})
    ner = bert | dict(_num_labels=9, architectures=["BertForTokenClassification"], directionality="bidi", max_length=512,
                      output_past=True, pooler_fc_size=768, pooler_num_attention_heads=12, pooler_num_fc_layers=3,
                      pooler_size_per_head=128, pooler_type="first_token_transform") | labels(
        ["O", "B-MISC", "I-MISC", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"])
    del ner["use_cache"]
    yield "bert-base-NER", ner, dict(extra={"bert." + POSITION_IDS: [1, POSITIONS]} | pooler("bert."))

    roberta = bert | dict(model_type="roberta", bos_token_id=0, eos_token_id=2, pad_token_id=1, layer_norm_eps=1e-5,
                          type_vocab_size=1)
    base = {k: v for k, v in roberta.items() if k not in ("position_embedding_type", "use_cache")}
    yield "roberta-base", base | dict(architectures=["RobertaForMaskedLM"]), dict(
        extra={"roberta." + POSITION_IDS: [1, POSITIONS]} | pooler("roberta."))
    yield "twitter-roberta-base-sentiment-latest", roberta | dict(
        architectures=["RobertaForSequenceClassification"], classifier_dropout=None, gradient_checkpointing=False,
        torch_dtype="float32", transformers_version="4.13.0.dev0") | labels(["negative", "neutral", "positive"]), dict(
        extra={"roberta." + POSITION_IDS: [1, POSITIONS]} | pooler("roberta."))
    yield "all-distilroberta-v1", roberta | dict(
        _name_or_path="distilroberta-base", architectures=["RobertaModel"], gradient_checkpointing=False,
        transformers_version="4.8.2"), dict(extra={POSITION_IDS: [1, POSITIONS]})

    xlm = roberta | dict(model_type="xlm-roberta", output_past=True)
    yield "xlm-roberta-base", xlm | dict(architectures=["XLMRobertaForMaskedLM"], transformers_version="4.17.0.dev0"), dict(
        extra={"roberta." + POSITION_IDS: [1, POSITIONS]} | pooler("roberta."))
    yield "bge-m3", xlm | dict(_name_or_path="", architectures=["XLMRobertaModel"], classifier_dropout=None,
                               torch_dtype="float32", transformers_version="4.33.0"), dict(
        extra={POSITION_IDS: [1, POSITIONS]})
    yield "xlm-roberta-base-language-detection", xlm | dict(
        _name_or_path="xlm-roberta-base", architectures=["XLMRobertaForSequenceClassification"], classifier_dropout=None,
        problem_type="single_label_classification", torch_dtype="float32", transformers_version="4.27.4") | labels(
        ["ja", "nl", "ar", "pl"]), dict(extra={"roberta." + POSITION_IDS: [1, POSITIONS]})

    longformer = base | dict(model_type="longformer", attention_mode="longformer", attention_window=[4, 8],
                             gradient_checkpointing=False, ignore_attention_mask=False, sep_token_id=2)
    yield "longformer-base-4096", longformer | dict(architectures=["LongformerForMaskedLM"]), dict(
        extra={"longformer." + POSITION_IDS: [1, POSITIONS]})
    yield "longformer-scico", longformer | dict(
        architectures=["LongformerForSequenceClassification"], torch_dtype="float32",
        transformers_version="4.10.0") | labels(["not related", "coref", "parent", "child"]), dict(
        extra={"longformer." + POSITION_IDS: [1, POSITIONS]})

    distil = dict(activation="gelu", attention_dropout=0.1, dim=24, dropout=0.1, hidden_dim=20, initializer_range=0.02,
                  max_position_embeddings=POSITIONS, model_type="distilbert", n_heads=4, n_layers=2, pad_token_id=0,
                  qa_dropout=0.1, seq_classif_dropout=0.2, sinusoidal_pos_embds=False, tie_weights_=True,
                  vocab_size=VOCABULARY)
    yield "distilbert-base-uncased", distil | dict(architectures=["DistilBertForMaskedLM"],
                                                   transformers_version="4.10.0.dev0"), {}
    yield "distilbert-base-uncased-finetuned-sst-2-english", distil | dict(
        architectures=["DistilBertForSequenceClassification"], finetuning_task="sst-2", output_past=True) | labels(
        ["NEGATIVE", "POSITIVE"]), {}
    yield "msmarco-distilbert-base-v4", distil | dict(
        _name_or_path="msmarco-distilbert-base-v4", architectures=["DistilBertModel"], transformers_version="4.8.2"), {}


def decoders():
    gpt2 = dict(activation_function="gelu_new", architectures=["GPT2LMHeadModel"], attn_pdrop=0.1, bos_token_id=9,
                embd_pdrop=0.1, eos_token_id=9, initializer_range=0.02, layer_norm_epsilon=1e-5, model_type="gpt2",
                n_ctx=POSITIONS, n_embd=24, n_head=4, n_layer=2, n_positions=POSITIONS, resid_pdrop=0.1,
                summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True,
                summary_type="cls_index", summary_use_proj=True, vocab_size=VOCABULARY,
                task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}})
    mask = lambda prefix: {f"{prefix}h.{i}.attn.bias": [1, 1, POSITIONS, POSITIONS] for i in range(2)}
    yield "openai-community-gpt2", gpt2, dict(rename=without("transformer."), extra=mask(""))
    yield "distilgpt2", gpt2 | dict(_num_labels=1) | labels(["LABEL_0"]), dict(extra=mask("transformer."))
    yield "gpt2-medium", gpt2 | dict(n_special=0, predict_special_tokens=True), dict(
        rename=without("transformer."), extra=mask(""))

    opt = dict(activation_dropout=0.0, activation_function="relu", architectures=["OPTForCausalLM"],
               attention_dropout=0.0, bos_token_id=2, do_layer_norm_before=True, dropout=0.1, eos_token_id=2, ffn_dim=20,
               hidden_size=24, init_std=0.02, layerdrop=0.0, max_position_embeddings=POSITIONS, model_type="opt",
               num_attention_heads=4, num_hidden_layers=2, pad_token_id=1, prefix="</s>", torch_dtype="float16",
               transformers_version="4.21.0.dev0", use_cache=True, vocab_size=VOCABULARY, word_embed_proj_dim=24)
    yield "opt-125m", opt, {}
    yield "opt-1.3b", opt | dict(_remove_final_layer_norm=False), dict(extra={"lm_head.weight": ("like", "model.decoder.embed_tokens.weight")})
    yield "opt-iml-max-1.3b", opt | dict(_name_or_path="facebook/opt-iml-max-1.3b", _remove_final_layer_norm=False, enable_bias=True,
                                         layer_norm_elementwise_affine=True), {}

    llama = dict(architectures=["LlamaForCausalLM"], bos_token_id=1, eos_token_id=2, hidden_act="silu",
                 initializer_range=0.02, model_type="llama", pretraining_tp=1, rms_norm_eps=1e-5, rope_scaling=None,
                 tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.35.0", use_cache=True) | LLAMA
    yield "TinyLlama-1.1B-Chat", llama | dict(attention_bias=False, rope_theta=10000.0), {}
    yield "Llama-3.2-1B-Instruct", llama | dict(
        attention_bias=False, attention_dropout=0.0, eos_token_id=[7, 8, 9], head_dim=8, mlp_bias=False,
        rope_scaling={"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                      "original_max_position_embeddings": 16, "rope_type": "llama3"},
        rope_theta=500000.0, tie_word_embeddings=True, transformers_version="4.45.0.dev0"), {}
    smol = llama | dict(attention_bias=False, attention_dropout=0.0, bos_token_id=0, eos_token_id=0, is_llama_config=True,
                        mlp_bias=False, rope_interleaved=False, rope_theta=100000, tie_word_embeddings=True,
                        transformers_version="4.40.1") | {"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}
    yield "SmolLM2-135M", smol, {}
    old = {k: v for k, v in llama.items() if k != "rope_theta"} | dict(transformers_version="4.31.0.dev0")
    yield "Llama-2-7b-chat", old, dict(
        extra={f"model.layers.{i}.self_attn.rotary_emb.inv_freq": [3] for i in range(2)})

    mistral = {k: v for k, v in llama.items() if k not in ("pretraining_tp", "rope_scaling")} | dict(
        architectures=["MistralForCausalLM"], model_type="mistral", rope_theta=10000.0, sliding_window=5)
    yield "Mistral-7B-v0.1", mistral | dict(transformers_version="4.34.0.dev0"), {}
    yield "Mistral-7B-Instruct-v0.3", mistral | dict(attention_dropout=0.0, rope_theta=1000000.0, sliding_window=None,
                                                     transformers_version="4.42.0.dev0"), {}
    yield "Mistral-Nemo-Instruct", mistral | dict(attention_dropout=0.0, head_dim=8, rope_theta=1000000.0,
                                                  sliding_window=None, transformers_version="4.43.0.dev0"), {}

    qwen2 = {k: v for k, v in llama.items() if k not in ("pretraining_tp", "rope_scaling")} | dict(
        architectures=["Qwen2ForCausalLM"], attention_dropout=0.0, max_window_layers=1, model_type="qwen2",
        rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=5, use_sliding_window=False)
    yield "Qwen2.5-0.5B-Instruct", qwen2 | dict(tie_word_embeddings=True, transformers_version="4.43.1"), {}
    yield "Qwen2-7B-Instruct", qwen2 | dict(transformers_version="4.41.2"), {}
    yield "DeepSeek-R1-Distill-Qwen-1.5B", qwen2 | dict(rope_theta=10000, use_mrope=False, transformers_version="4.44.0"), {}

    qwen3 = qwen2 | dict(architectures=["Qwen3ForCausalLM"], attention_bias=False, head_dim=8, max_window_layers=2,
                         model_type="qwen3", rope_scaling=None, sliding_window=None, transformers_version="4.51.0")
    yield "Qwen3-0.6B", qwen3 | dict(tie_word_embeddings=True), dict(
        extra={"lm_head.weight": ("like", "model.embed_tokens.weight")})
    yield "Qwen3-8B", qwen3, {}
    yield "Qwen3-Embedding-0.6B", qwen3 | dict(tie_word_embeddings=True), dict(rename=without("model."))

    ernie = {k: v for k, v in llama.items() if k not in ("pretraining_tp", "rope_scaling")} | dict(
        architectures=["Ernie4_5_MoeForCausalLM"], model_type="ernie4_5_moe", moe_capacity=[64, 64, 64], moe_gate="topk",
        moe_intermediate_size=12, moe_k=2, moe_layer_end_index=1, moe_layer_interval=1, moe_layer_start_index=1,
        moe_num_experts=4, moe_num_shared_experts=2, moe_use_aux_free=True, num_nextn_predict_layers=1, pad_token_id=0,
        rope_theta=500000.0, tie_word_embeddings=True, transformers_version="4.54.0.dev0", use_bias=False)
    ahead = {f"model.mtp_{name}.0.weight": shape for name, shape in (
        ("emb_norm", [24]), ("hidden_norm", [24]), ("linear_proj", [24, 48]), ("block.self_attn.q_proj", [24, 24]))}
    yield "ERNIE-4.5-21B-A3B-PT", ernie, dict(extra=ahead)
    yield "Falcon-H1-0.5B-Instruct", {k: v for k, v in llama.items() if k != "pretraining_tp"} | dict(
        architectures=["FalconH1ForCausalLM"], attention_bias=False, attention_dropout=0.0, attention_in_multiplier=1.0,
        attention_out_multiplier=0.9375, attn_layer_indices=None, embedding_multiplier=5.656854249492381, eos_token_id=11,
        head_dim=8, key_multiplier=0.390625, lm_head_multiplier=0.0195312, mamba_conv_bias=True,
        mamba_d_conv=4, mamba_d_head=8, mamba_d_ssm=48, mamba_d_state=10, mamba_expand=2, mamba_n_groups=1,
        mamba_n_heads=6, mamba_norm_before_gate=False, mamba_proj_bias=False, mamba_rms_norm=False, mamba_use_mlp=True,
        mlp_bias=False, mlp_expansion_factor=8, mlp_multipliers=[0.8838834764831844, 0.5859375], model_type="falcon_h1",
        num_logits_to_keep=1, pad_token_id=0, projectors_bias=False, rope_theta=100000000000.0, ssm_in_multiplier=1.25,
        ssm_multipliers=[0.3535533905932738, 0.25, 0.3535533905932738, 0.5, 0.3535533905932738],
        ssm_out_multiplier=0.23570226039551587, time_step_floor=0.0001, time_step_max=0.1, time_step_min=0.001,
        transformers_version="4.52.0.dev0"), {}

    yield "mamba-130m-hf", dict(
        architectures=["MambaForCausalLM"], bos_token_id=0, conv_kernel=4, d_inner=48, d_model=24, eos_token_id=0, expand=2,
        fused_add_norm=True, hidden_act="silu", hidden_size=24, initializer_range=0.1, intermediate_size=48,
        layer_norm_epsilon=1e-5, model_type="mamba", n_layer=2, num_hidden_layers=2, pad_token_id=0,
        pad_vocab_size_multiple=8, rescale_prenorm_residual=False, residual_in_fp32=True, rms_norm=True, ssm_cfg={},
        state_size=6, time_step_floor=0.0001, time_step_init_scheme="random", time_step_max=0.1, time_step_min=0.001,
        time_step_rank=3, time_step_scale=1.0, torch_dtype="float32", transformers_version="4.39.0.dev0", use_bias=False,
        use_cache=True, use_conv_bias=True, vocab_size=VOCABULARY), {}

    gemma2 = {k: v for k, v in llama.items() if k not in ("pretraining_tp", "rope_scaling", "tie_word_embeddings")} | dict(
        architectures=["Gemma2ForCausalLM"], attention_bias=False, attention_dropout=0.0, attn_logit_softcapping=50.0,
        bos_token_id=2, cache_implementation="hybrid", eos_token_id=1, final_logit_softcapping=30.0, head_dim=8,
        hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", model_type="gemma2", pad_token_id=0,
        query_pre_attn_scalar=20, rms_norm_eps=1e-6, rope_theta=10000.0, sliding_window=5)
    yield "gemma-2-2b", gemma2 | dict(torch_dtype="float32", transformers_version="4.42.4"), {}
    yield "gemma-2-9b-it", gemma2 | dict(eos_token_id=[1, 7], sliding_window_size=5, transformers_version="4.42.0.dev0"), {}
    yield "gemma-2-27b-it", gemma2 | dict(_attn_implementation="eager", query_pre_attn_scalar=14,
                                          transformers_version="4.42.0.dev0"), {}

    gemma3 = {k: v for k, v in gemma2.items() if k != "hidden_act"} | dict(
        architectures=["Gemma3ForCausalLM"], attn_logit_softcapping=None, eos_token_id=[1, 7],
        final_logit_softcapping=None, model_type="gemma3_text", rope_local_base_freq=10000, rope_scaling=None,
        rope_theta=1000000, sliding_window_pattern=2)
    yield "gemma-3-1b-it", gemma3 | dict(transformers_version="4.50.0.dev0"), {}
    newer = {k: v for k, v in gemma3.items() if k not in ("sliding_window_pattern", "cache_implementation", "torch_dtype")}
    yield "gemma-3-270m", newer | dict(
        _sliding_window_pattern=6, dtype="bfloat16", eos_token_id=1, layer_types=["sliding_attention", "full_attention"],
        rope_local_base_freq=10000.0, rope_theta=1000000.0, transformers_version="4.57.0.dev0",
        use_bidirectional_attention=False), {}
    yield "gemma-3-1b-pt", gemma3 | dict(eos_token_id=1, transformers_version="4.50.0.dev0"), {}
    yield from seeing(llama)


def seeing(llama):
    """Of most of them texts alone are read."""
    texts = dict(hidden_size=24, intermediate_size=20, model_type="gemma3_text", num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=8, rope_scaling={"factor": 8.0, "rope_type": "linear"}, sliding_window=5,
                 vocab_size=VOCABULARY, max_position_embeddings=POSITIONS)
    yield "gemma-3-4b-it", dict(
        architectures=["Gemma3ForConditionalGeneration"], boi_token_index=25, eoi_token_index=26, eos_token_id=[1, 7],
        image_token_index=27, initializer_range=0.02, mm_tokens_per_image=4, model_type="gemma3", torch_dtype="bfloat16",
        text_config=texts, transformers_version="4.50.0.dev0",
        vision_config=dict(hidden_size=16, image_size=16, intermediate_size=20, model_type="siglip_vision_model",
                           num_attention_heads=2, num_hidden_layers=1, patch_size=4, vision_use_head=False)), dict(
        rename=lambda name: name.replace("model.language_model.", "language_model.model.").removeprefix("model."))

    qwen = {k: v for k, v in llama.items() if k != "pretraining_tp"} | dict(
        attention_dropout=0.0, bos_token_id=1, eos_token_id=2, rms_norm_eps=1e-6, rope_theta=1000000.0)
    tokens = dict(image_token_id=25, video_token_id=26, vision_start_token_id=27, vision_end_token_id=28)
    patches = dict(depth=1, hidden_act="silu", hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=24,
                   patch_size=4, spatial_merge_size=2, temporal_patch_size=2)
    yield "Qwen2.5-VL-3B-Instruct", qwen | tokens | dict(
        architectures=["Qwen2_5_VLForConditionalGeneration"], max_window_layers=1, model_type="qwen2_5_vl",
        rope_scaling={"type": "mrope", "mrope_section": [1, 1, 1]}, sliding_window=5, tie_word_embeddings=True,
        transformers_version="4.41.2", use_sliding_window=False, vision_token_id=24,
        vision_config=patches | dict(in_chans=3, spatial_patch_size=4, window_size=16, fullatt_block_indexes=[7],
                                     tokens_per_second=2)), dict(
        rename=lambda name: name.replace("model.language_model.", "model.").replace("model.visual.", "visual."))
    texts = qwen | dict(attention_bias=False, dtype="bfloat16", head_dim=8, model_type="qwen3_vl_text", rope_theta=5000000,
                        rope_scaling={"mrope_interleaved": True, "mrope_section": [2, 1, 1], "rope_type": "default"},
                        tie_word_embeddings=True)
    yield "Qwen3-VL-4B-Instruct", tokens | dict(
        architectures=["Qwen3VLForConditionalGeneration"], model_type="qwen3_vl", tie_word_embeddings=True,
        transformers_version="4.57.0.dev0", text_config={
            k: v for k, v in texts.items() if k not in ("architectures", "torch_dtype", "transformers_version")},
        vision_config=patches | dict(deepstack_visual_indexes=[0], hidden_act="gelu_pytorch_tanh", in_channels=3,
                                     initializer_range=0.02, model_type="qwen3_vl", num_position_embeddings=16)), {}
    # Matrices of experts are the other way round than transformers has them.
    turned = {f"model.language_model.layers.{i}.mlp.experts.{name}": shape for i in range(2)
              for name, shape in (("gate_up_proj", [4, 24, 40]), ("down_proj", [4, 20, 24]))}
    yield "Qwen3-VL-30B-A3B-Instruct", tokens | dict(
        architectures=["Qwen3VLMoeForConditionalGeneration"], model_type="qwen3_vl_moe", tie_word_embeddings=False,
        transformers_version="4.57.0.dev0", text_config={
            k: v for k, v in texts.items() if k not in ("architectures", "torch_dtype", "transformers_version",
                                                        "tie_word_embeddings")} | dict(
            decoder_sparse_step=1, mlp_only_layers=[], model_type="qwen3_vl_moe_text", moe_intermediate_size=20,
            norm_topk_prob=True, num_experts=4, num_experts_per_tok=2),
        vision_config=patches | dict(deepstack_visual_indexes=[0], hidden_act="gelu_pytorch_tanh", in_channels=3,
                                     initializer_range=0.02, model_type="qwen3_vl_moe",
                                     num_position_embeddings=16)), dict(extra=turned)
    texts = {k: v for k, v in texts.items() if k not in ("architectures", "intermediate_size", "rope_scaling", "rope_theta",
                                                         "tie_word_embeddings", "torch_dtype", "transformers_version")}
    yield "Qwen3.6-35B-A3B", tokens | dict(
        architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", tie_word_embeddings=False,
        transformers_version="4.57.0.dev0", text_config=texts | dict(
            attn_output_gate=True, full_attention_interval=2, layer_types=["linear_attention", "full_attention"],
            linear_conv_kernel_dim=4, linear_key_head_dim=6, linear_num_key_heads=2, linear_num_value_heads=4,
            linear_value_head_dim=10, mamba_ssm_dtype="float32", mlp_only_layers=[], model_type="qwen3_5_moe_text",
            moe_intermediate_size=20, mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False, num_experts=4,
            num_experts_per_tok=2, router_aux_loss_coef=0.001, shared_expert_intermediate_size=16,
            rope_parameters={"mrope_interleaved": True, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.25,
                             "rope_theta": 10000000, "rope_type": "default"}),
        vision_config=patches | dict(deepstack_visual_indexes=[], hidden_act="gelu_pytorch_tanh", in_channels=3,
                                     initializer_range=0.02, model_type="qwen3_5_moe",
                                     num_position_embeddings=16)), dict(
        extra={"mtp.fc.weight": [24, 48], "mtp.norm.weight": [24]})


def talking_about_images():
    clip = dict(hidden_size=16, image_size=8, intermediate_size=20, model_type="clip_vision_model", num_attention_heads=2,
                num_hidden_layers=2, patch_size=4, projection_dim=12, vocab_size=32000)
    texts = dict(_name_or_path="lmsys/vicuna-7b-v1.5", architectures=["LlamaForCausalLM"], model_type="llama",
                 rms_norm_eps=1e-5, torch_dtype="float16", hidden_size=24, intermediate_size=20, num_hidden_layers=2,
                 num_attention_heads=4, num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=POSITIONS)
    names = {"model.language_model.": "language_model.model.", "model.vision_tower.": "vision_tower.vision_model.",
             "model.multi_modal_projector.": "multi_modal_projector.", "lm_head.": "language_model.lm_head."}

    def published(name):
        return next((old + name.removeprefix(now) for now, old in names.items() if name.startswith(now)), name)

    yield "llava-1.5-7b-hf", dict(
        architectures=["LlavaForConditionalGeneration"], ignore_index=-100, image_token_index=5, model_type="llava",
        pad_token_id=6, projector_hidden_act="gelu", text_config=texts, tie_word_embeddings=False, torch_dtype="float16",
        transformers_version="4.36.0.dev0", vision_config=clip, vision_feature_layer=-2,
        vision_feature_select_strategy="default", vocab_size=VOCABULARY), dict(rename=published)
    yield "paligemma-3b-mix-224", dict(
        architectures=["PaliGemmaForConditionalGeneration"], bos_token_id=2, eos_token_id=1, hidden_size=24,
        ignore_index=-100, image_token_index=5, model_type="paligemma", pad_token_id=0, projection_dim=24,
        torch_dtype="float32", transformers_version="4.41.0.dev0", vocab_size=VOCABULARY,
        text_config=dict(hidden_size=24, intermediate_size=20, model_type="gemma", num_attention_heads=4,
                         num_hidden_layers=2, num_image_tokens=4, num_key_value_heads=1, torch_dtype="float32",
                         vocab_size=VOCABULARY, head_dim=8, max_position_embeddings=POSITIONS),
        vision_config={k: v for k, v in clip.items() if k not in ("projection_dim", "vocab_size")} | dict(
            model_type="siglip_vision_model", num_image_tokens=4, projection_dim=24, projector_hidden_act="gelu_fast",
            vision_use_head=False)), dict(rename=published)
    mistral = dict(architectures=["Mistral3ForConditionalGeneration"], image_token_index=5, model_type="mistral3",
                   multimodal_projector_bias=False, projector_hidden_act="gelu", spatial_merge_size=2,
                   vision_feature_layer=-1,
                   vision_config=dict(attention_dropout=0.0, head_dim=8, hidden_act="silu", hidden_size=16, image_size=40,
                                      initializer_range=0.02, intermediate_size=20, model_type="pixtral",
                                      num_attention_heads=2, num_channels=3, num_hidden_layers=2, patch_size=4))
    words = {k: v for k, v in texts.items() if k not in ("_name_or_path", "architectures", "torch_dtype")} | dict(
        attention_dropout=0.0, head_dim=8, hidden_act="silu", initializer_range=0.02, sliding_window=None, use_cache=True)
    yield "Mistral-Small-3.1-24B-Instruct-2503", mistral | dict(
        torch_dtype="bfloat16", transformers_version="4.50.0.dev0",
        text_config=words | dict(model_type="mistral", rope_theta=1000000000.0),
        vision_config=mistral["vision_config"] | dict(rope_theta=10000.0)), dict(
        rename=lambda name: published(name).replace("vision_tower.vision_model.", "vision_tower."))
    yield "Ministral-3-8B-Instruct-2512-BF16", mistral | dict(
        dtype="bfloat16", tie_word_embeddings=False, transformers_version="5.0.0.dev0",
        text_config=words | dict(model_type="ministral3", rope_parameters={
            "beta_fast": 32.0, "beta_slow": 1.0, "factor": 16.0, "llama_4_scaling_beta": 0.1, "mscale": 1.0,
            "mscale_all_dim": 1.0, "original_max_position_embeddings": POSITIONS, "rope_theta": 1000000.0,
            "rope_type": "yarn", "type": "yarn"}),
        vision_config=mistral["vision_config"] | dict(rope_parameters={"rope_theta": 10000.0, "rope_type": "default"})), dict(
        rename=lambda name: published(name).replace("vision_tower.vision_model.", "vision_tower."))
    yield "InternVL3-1B-hf", dict(
        architectures=["InternVLForConditionalGeneration"], downsample_ratio=0.5, image_seq_length=4, image_token_id=5,
        model_type="internvl", projector_hidden_act="gelu", torch_dtype="bfloat16", transformers_version="4.52.0.dev0",
        vision_feature_layer=-1, vision_feature_select_strategy="default",
        text_config={k: v for k, v in texts.items() if k != "_name_or_path"} | dict(
            architectures=["Qwen2ForCausalLM"], max_window_layers=1, model_type="qwen2", rope_theta=1000000.0,
            rope_scaling={"factor": 2.0, "rope_type": "dynamic", "type": "dynamic"}, sliding_window=None,
            tie_word_embeddings=True, torch_dtype="bfloat16", use_sliding_window=False),
        vision_config=dict(architectures=["InternVisionModel"], attention_bias=True, attention_dropout=0.0, dropout=0.0,
                           hidden_act="gelu", hidden_dropout_prob=0.0, hidden_size=16, image_size=[8, 8],
                           initializer_factor=0.1, initializer_range=1e-10, intermediate_size=20, layer_norm_eps=1e-6,
                           layer_scale_init_value=0.1, model_type="internvl_vision", norm_type="layer_norm",
                           num_attention_heads=2, num_channels=3, num_hidden_layers=2, patch_size=[2, 2],
                           projection_dropout=0.0, torch_dtype="bfloat16", use_absolute_position_embeddings=True,
                           use_mask_token=False, use_mean_pooling=True, use_qk_norm=False)), dict(
        rename=lambda name: published(name).replace("vision_tower.vision_model.", "vision_tower."))
    yield "SmolVLM-256M-Instruct", dict(
        architectures=["Idefics3ForConditionalGeneration"], image_token_id=5, model_type="idefics3", scale_factor=2,
        tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.46.0", use_cache=True,
        vocab_size=VOCABULARY, text_config=texts | dict(
            architectures=["VLlama3ForCausalLM"], head_dim=6, is_llama_config=True, neftune_noise_alpha=0.0,
            pixel_shuffle_factor=2, qk_layer_norms=False, rope_interleaved=False, rope_theta=100000,
            torch_dtype="bfloat16", use_resampler=False),
        vision_config=dict(hidden_size=16, image_size=8, intermediate_size=20, max_image_size={"longest_edge": 8},
                           model_type="idefics3", num_attention_heads=2, num_hidden_layers=2, patch_size=2,
                           size={"longest_edge": 24}, tie_word_embeddings=False, torch_dtype="bfloat16",
                           use_base_siglip=False)), {}


def encoder_decoders():
    t5 = dict(architectures=["T5ForConditionalGeneration"], d_ff=20, d_kv=6, d_model=24, decoder_start_token_id=0,
              dropout_rate=0.1, eos_token_id=1, initializer_factor=1.0, is_encoder_decoder=True, layer_norm_epsilon=1e-6,
              model_type="t5", n_positions=512, num_heads=4, num_layers=2, output_past=True, pad_token_id=0,
              relative_attention_num_buckets=32, vocab_size=VOCABULARY)
    copies = {f"{stack}.embed_tokens.weight": ("like", "shared.weight") for stack in ("encoder", "decoder")}
    stray = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": [32, 4]}
    prefixes = {"translation_en_to_de": {"early_stopping": True, "max_length": 300, "num_beams": 4,
                                         "prefix": "translate English to German: "}}
    yield "t5-small", t5 | dict(task_specific_params=prefixes), dict(extra=stray)
    gated = t5 | dict(feed_forward_proj="gated-gelu", num_decoder_layers=2, tie_word_embeddings=False, use_cache=True)
    yield "flan-t5-base", gated | dict(n_positions=512, relative_attention_max_distance=128, transformers_version="4.23.1",
                                       task_specific_params=prefixes), dict(
        extra=copies | {"lm_head.weight": [VOCABULARY, 24]})
    yield "t5-v1_1-base", gated | dict(transformers_version="4.2.0"), dict(extra={"lm_head.weight": [VOCABULARY, 24]})

    marian = dict(_num_labels=3, activation_dropout=0.0, activation_function="swish", add_bias_logits=False,
                  add_final_layer_norm=False, architectures=["MarianMTModel"], attention_dropout=0.0, bos_token_id=0,
                  classif_dropout=0.0, decoder_layerdrop=0.0, dropout=0.1, encoder_layerdrop=0.0, eos_token_id=0,
                  init_std=0.02, is_encoder_decoder=True, max_length=512, model_type="marian", normalize_before=False,
                  normalize_embedding=False, num_beams=6, scale_embedding=True, static_position_embeddings=True) | MARIAN
    same = {name: ("like", "model.shared.weight") for name in (
        "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")}
    yield "opus-mt-en-de", {k: v for k, v in marian.items() if k != "decoder_vocab_size"}, {}
    yield "opus-mt-zh-en", marian | dict(
        classifier_dropout=0.0, extra_pos_embeddings=10, forced_eos_token_id=0, share_encoder_decoder_embeddings=True,
        use_cache=True, transformers_version="4.22.0.dev0") | labels(["LABEL_0", "LABEL_1", "LABEL_2"]), dict(extra=same)
    yield "opus-mt-tc-big-en-fr", marian | dict(
        activation_function="relu", encoder_attention_heads=4, forced_eos_token_id=1, eos_token_id=1, gradient_checkpointing=False,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True, torch_dtype="float16", use_cache=True), {}

    whisper = dict(_name_or_path="openai/whisper-tiny", activation_dropout=0.0, activation_function="gelu",
                   architectures=["WhisperForConditionalGeneration"], attention_dropout=0.0, decoder_layerdrop=0.0,
                   dropout=0.0, encoder_layerdrop=0.0, init_std=0.02, is_encoder_decoder=True, max_length=448,
                   model_type="whisper", scale_embedding=False, torch_dtype="float32", use_cache=True) | WHISPER
    yield "whisper-tiny", whisper | dict(transformers_version="4.27.0.dev0"), {}
    large = {k: v for k, v in whisper.items() if k not in ("forced_decoder_ids", "suppress_tokens")} | dict(
        apply_spec_augment=False, begin_suppress_tokens=[5, 2], classifier_proj_size=256, mask_feature_length=10,
        mask_feature_min_masks=0, mask_feature_prob=0, mask_time_length=10, mask_time_min_masks=2, mask_time_prob=0.05,
        median_filter_width=7, torch_dtype="float16", use_weighted_layer_sum=False, transformers_version="4.36.0.dev0")
    yield "whisper-large-v3", large, {}
    yield "distil-large-v3", large | dict(decoder_layers=1, forced_decoder_ids=None), dict(
        extra={"proj_out.weight": ("like", "model.decoder.embed_tokens.weight")})


# As releases of transformers before 5 named the parts of the weight of positions.
def older_positions(name):
    new = "conv.parametrizations.weight.original"
    return name.replace(new + "0", "conv.weight_g").replace(new + "1", "conv.weight_v")


def recognizers():
    sizes = dict(hidden_size=24, intermediate_size=20, num_attention_heads=3, num_hidden_layers=2, vocab_size=VOCABULARY,
                 conv_dim=[10, 10, 12], conv_kernel=[5, 3, 2], conv_stride=[3, 2, 2], num_conv_pos_embeddings=8,
                 num_conv_pos_embedding_groups=4, num_feat_extract_layers=3)
    base = dict(_name_or_path="facebook/wav2vec2-base-960h", activation_dropout=0.1, apply_spec_augment=True,
                architectures=["Wav2Vec2ForCTC"], attention_dropout=0.1, bos_token_id=1, codevector_dim=256,
                contrastive_logits_temperature=0.1, conv_bias=False, ctc_loss_reduction="sum", ctc_zero_infinity=False,
                diversity_loss_weight=0.1, do_stable_layer_norm=False, eos_token_id=2, feat_extract_activation="gelu",
                feat_extract_dropout=0.0, feat_extract_norm="group", feat_proj_dropout=0.1, feat_quantizer_dropout=0.0,
                final_dropout=0.1, gradient_checkpointing=False, hidden_act="gelu", hidden_dropout=0.1,
                hidden_dropout_prob=0.1, initializer_range=0.02, layer_norm_eps=1e-5, layerdrop=0.1, mask_feature_length=10,
                mask_feature_prob=0.0, mask_time_length=10, mask_time_prob=0.05, model_type="wav2vec2",
                num_codevector_groups=2, num_codevectors_per_group=320, num_negatives=100, pad_token_id=0,
                proj_codevector_dim=256, transformers_version="4.7.0.dev0") | sizes
    yield "wav2vec2-base-960h", base, dict(rename=older_positions)
    large = base | dict(
        _name_or_path="facebook/wav2vec2-large-xlsr-53", adapter_kernel_size=3, adapter_stride=2, add_adapter=False,
        conv_bias=True, do_stable_layer_norm=True, feat_extract_norm="layer", layerdrop=0.0, mask_channel_length=10,
        mask_channel_min_space=1, mask_channel_other=0.0, mask_channel_prob=0.0, mask_channel_selection="static",
        mask_feature_min_masks=0, mask_time_min_masks=2, mask_time_min_space=1, mask_time_other=0.0,
        mask_time_selection="static", num_adapter_layers=3, output_hidden_size=24, tdnn_dilation=[1, 2, 3, 1, 1],
        tdnn_dim=[512, 512, 512, 512, 1500], tdnn_kernel=[5, 3, 3, 1, 1], torch_dtype="float32",
        use_weighted_layer_sum=False, xvector_output_dim=512, transformers_version="4.16.0.dev0")
    yield "wav2vec2-large-xlsr-53-english", large, dict(rename=older_positions)
    hubert = {key: value for key, value in large.items() if "adapter" not in key and not key.startswith(
        ("codevector", "contrastive", "diversity", "num_code", "num_neg", "output_", "proj_", "tdnn", "xvector"))}
    yield "hubert-large-ls960-ft", hubert | dict(
        _name_or_path="facebook/hubert-large-ls960-ft", architectures=["HubertForCTC"], feat_proj_layer_norm=True,
        model_type="hubert", transformers_version="4.10.0.dev0"), dict(rename=older_positions)
    yield "wavlm-libri-clean-100h-base-plus", large | dict(
        _name_or_path="microsoft/wavlm-base-plus", architectures=["WavLMForCTC"], classifier_proj_size=256, conv_bias=False,
        ctc_loss_reduction="mean", do_stable_layer_norm=False, feat_extract_norm="group", freeze_feat_extract_train=True,
        max_bucket_distance=800, model_type="wavlm", no_mask_channel_overlap=False, no_mask_time_overlap=False, num_buckets=320,
        num_ctc_classes=80, replace_prob=0.5, tokenizer_class="Wav2Vec2CTCTokenizer",
        transformers_version="4.15.0.dev0"), dict(rename=older_positions)


def writers_of_images():
    # Release 4 wrote every setting that it knew into both parts.
    old = dict(_name_or_path="", add_cross_attention=False, chunk_size_feed_forward=0, diversity_penalty=0.0, do_sample=False,
               early_stopping=False, encoder_no_repeat_ngram_size=0, finetuning_task=None, is_encoder_decoder=False,
               length_penalty=1.0, max_length=20, min_length=0, no_repeat_ngram_size=0, num_beam_groups=1, num_beams=1,
               num_return_sequences=1, output_scores=False, prefix=None, problem_type=None, pruned_heads={},
               remove_invalid_values=False, repetition_penalty=1.0, return_dict=True, sep_token_id=None,
               task_specific_params=None, temperature=1.0, tie_encoder_decoder=False, tokenizer_class=None, top_k=50, top_p=1.0,
               torchscript=False, transformers_version="4.12.2", use_bfloat16=False) | labels(["LABEL_0", "LABEL_1"])
    encoder = old | dict(attention_probs_dropout_prob=0.0, cross_attention_hidden_size=None, decoder_start_token_id=None,
                         hidden_act="gelu", hidden_dropout_prob=0.0, hidden_size=24, image_size=8, initializer_range=0.02,
                         intermediate_size=20, is_decoder=False, layer_norm_eps=1e-12, model_type="deit",
                         num_attention_heads=4, num_channels=3, num_hidden_layers=2, patch_size=4, qkv_bias=True,
                         tie_word_embeddings=True)
    decoder = old | dict(activation_dropout=0.0, activation_function="relu", attention_dropout=0.0, bos_token_id=0,
                         classifier_dropout=0.0, cross_attention_hidden_size=24, d_model=20, decoder_attention_heads=5,
                         decoder_ffn_dim=28, decoder_layerdrop=0.0, decoder_layers=2, decoder_start_token_id=2, dropout=0.1,
                         eos_token_id=2, init_std=0.02, is_decoder=True, layernorm_embedding=True,
                         max_position_embeddings=POSITIONS, model_type="trocr", pad_token_id=1, scale_embedding=True,
                         tie_word_embeddings=False, use_cache=False, use_learned_position_embeddings=True,
                         vocab_size=VOCABULARY)
    yield "trocr-small-printed", dict(
        architectures=["VisionEncoderDecoderModel"], decoder=decoder, encoder=encoder, is_encoder_decoder=True,
        model_type="vision-encoder-decoder", tie_word_embeddings=False, torch_dtype="float32",
        transformers_version=None), dict(rename=published_encoder)
    gpt2 = old | dict(activation_function="gelu_new", add_cross_attention=True, architectures=["GPT2LMHeadModel"],
                      attn_pdrop=0.1, bos_token_id=9, cross_attention_hidden_size=None, decoder_start_token_id=9,
                      embd_pdrop=0.1, eos_token_id=9, initializer_range=0.02, is_decoder=True, layer_norm_epsilon=1e-5,
                      model_type="gpt2", n_ctx=POSITIONS, n_embd=24, n_head=4, n_inner=None, n_layer=2,
                      n_positions=POSITIONS, pad_token_id=9, reorder_and_upcast_attn=False, resid_pdrop=0.1,
                      scale_attn_by_inverse_layer_idx=False, scale_attn_weights=True, summary_activation=None,
                      summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index",
                      summary_use_proj=True, task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}},
                      use_cache=True, vocab_size=VOCABULARY)
    masks = {f"decoder.transformer.h.{i}.{module}.{mask}": shape for i in range(2) for module in ("attn", "crossattention")
             for mask, shape in (("bias", [1, 1, POSITIONS, POSITIONS]), ("masked_bias", []))}
    yield "vit-gpt2-image-captioning", dict(
        architectures=["VisionEncoderDecoderModel"], bos_token_id=9, decoder=gpt2, decoder_start_token_id=9,
        encoder=encoder | dict(model_type="vit", encoder_stride=16, architectures=["ViTModel"]), eos_token_id=9,
        is_encoder_decoder=True, model_type="vision-encoder-decoder", pad_token_id=9, tie_word_embeddings=False,
        torch_dtype="float32", transformers_version=None), dict(rename=published_encoder, extra=masks)
    bert = old | dict(add_cross_attention=True, architectures=["BertForMaskedLM"], attention_probs_dropout_prob=0.1,
                      bos_token_id=None, classifier_dropout=None, cross_attention_hidden_size=None,
                      decoder_start_token_id=None, eos_token_id=None, hidden_act="gelu", hidden_dropout_prob=0.1,
                      hidden_size=24, initializer_range=0.02, intermediate_size=20, is_decoder=True, layer_norm_eps=1e-12,
                      max_position_embeddings=POSITIONS, model_type="bert", num_attention_heads=4, num_hidden_layers=2,
                      pad_token_id=0, position_embedding_type="absolute", tie_word_embeddings=True,
                      tokenizer_class="BertJapaneseTokenizer", type_vocab_size=2, use_cache=True, vocab_size=VOCABULARY)
    del bert["chunk_size_feed_forward"]  # null, which no file has, fails in transformers as a number that is compared
    yield "manga-ocr-base", dict(
        architectures=["VisionEncoderDecoderModel"], decoder=bert, decoder_start_token_id=2, early_stopping=True,
        encoder=encoder | dict(model_type="deit", image_size=8), eos_token_id=3, is_encoder_decoder=True, length_penalty=2.0,
        max_length=300, model_type="vision-encoder-decoder", no_repeat_ngram_size=3, num_beams=4, pad_token_id=0,
        tie_word_embeddings=False, torch_dtype="float32", transformers_version=None, vocab_size=VOCABULARY), dict(
        rename=published_encoder, extra={"decoder.bert.embeddings.position_ids": [1, POSITIONS]})


def popular_models():
    for generate in (encoders, decoders, encoder_decoders, recognizers, talking_about_images,
                     writers_of_images):
        for name, config, files in generate():
            kind = Seeing if config["model_type"] in Seeing.preprocessors else Mixture if "moe_k" in config else Base
            yield kind(name, config, **files)
