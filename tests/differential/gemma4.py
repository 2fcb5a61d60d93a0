"""Gemma 4, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import DECODER, VOCABULARY, Seeing, plain

ROPE = {"sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 7000.0}}
TEXT = DECODER | dict(
    head_dim=8, global_head_dim=12, sliding_window=5, rms_norm_eps=1e-5, hidden_activation="gelu_pytorch_tanh",
    attention_bias=False, layer_types=["sliding_attention", "full_attention"] * 2, num_hidden_layers=4, rope_parameters=ROPE,
    hidden_size_per_layer_input=6, vocab_size_per_layer_input=VOCABULARY, attention_k_eq_v=False, num_kv_shared_layers=2,
    use_double_wide_mlp=True, enable_moe_block=False, final_logit_softcapping=0.5, tie_word_embeddings=True)
VISION = dict(
    model_type="gemma4_vision", hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=2, head_dim=8, patch_size=4, position_embedding_size=16, pooling_kernel_size=2,
    use_clipped_linears=True, rope_parameters={"rope_theta": 50.0, "rope_type": "axial"})


def plain_models():
    yield plain(T.Gemma4ForCausalLM, T.Gemma4TextConfig, **TEXT)
    yield plain(T.Gemma4ForConditionalGeneration, T.Gemma4Config, audio_config=None, image_token_id=5, boi_token_id=6,
                eoi_token_id=7, tie_word_embeddings=True,
                vision_config=VISION | dict(standardize=True, num_key_value_heads=1, rms_norm_eps=1e-5, attention_bias=False,
                                            hidden_activation="gelu_pytorch_tanh", max_position_embeddings=64),
                text_config=TEXT | dict(use_bidirectional_attention="vision", pad_token_id=3))


def popular_models():
    vision = VISION | dict(rope_parameters={"rope_theta": 100.0, "rope_type": "default"})
    whole = dict(architectures=["Gemma4ForConditionalGeneration"], audio_config=None, dtype="bfloat16", model_type="gemma4",
                 tie_word_embeddings=True, transformers_version="5.5.0.dev0", vision_config=vision, image_token_id=26,
                 boi_token_id=27, eoi_token_id=28, eos_token_id=[1, 9])
    text = TEXT | dict(model_type="gemma4_text", final_logit_softcapping=30.0, num_global_key_value_heads=None,
                       rms_norm_eps=1e-6, use_bidirectional_attention=None)
    yield Seeing("gemma-4-E2B-it", whole | dict(text_config=text))
    yield Seeing("gemma-4-26B-A4B-it", whole | dict(vision_config=vision | dict(
        standardize=True, use_clipped_linears=False), text_config=text | dict(
        attention_k_eq_v=True, enable_moe_block=True, hidden_size_per_layer_input=0, moe_intermediate_size=12,
        num_experts=8, num_global_key_value_heads=1, num_kv_shared_layers=0, top_k_experts=3,
        use_bidirectional_attention="vision", use_double_wide_mlp=False)))
