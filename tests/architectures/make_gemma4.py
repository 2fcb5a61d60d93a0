"""Tiny models of Gemma 4, which read texts alone here."""

import json

import torch
import transformers

from make_decoders import decoder
from tiny import here, is_wanted, llama_like, rope


def gemma4(**more):
    layers = ["sliding_attention", "full_attention"]
    return dict(llama_like(
        num_hidden_layers=4, head_dim=8, global_head_dim=12, sliding_window=4, layer_types=layers * 2,
        hidden_size_per_layer_input=10, vocab_size_per_layer_input=53, tie_word_embeddings=True, rms_norm_eps=0.02,
        rope_parameters={"sliding_attention": rope("default"),
                         "full_attention": rope("proportional", partial_rotary_factor=0.5) | {"rope_theta": 7000.0}})) | more


def scaled(model_class):
    """Makes models whose layers have random factors, which are no parameters."""
    def made(config):
        model = model_class(config)
        for name, buffer in model.named_buffers():
            if name.endswith("layer_scalar"):
                buffer.copy_((0.5 + torch.rand(buffer.shape)).half())
        return model
    return made


def gemma4_decoders():
    T = transformers
    text = lambda **more: T.Gemma4TextConfig(**gemma4(**more))
    decoder("gemma4", scaled(T.Gemma4ForCausalLM), text(
        attention_bias=True, num_kv_shared_layers=2, use_double_wide_mlp=True, final_logit_softcapping=3.0))
    decoder("gemma4_experts", scaled(T.Gemma4ForCausalLM), text(
        hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=3, enable_moe_block=True,
        num_experts=6, top_k_experts=2, moe_intermediate_size=16, hidden_activation="silu", tie_word_embeddings=False))
    # With settings that GGUF can express.
    plain = dict(rms_norm_eps=1e-6, attention_bias=False)
    decoder("gemma4_plain", scaled(T.Gemma4ForCausalLM), text(
        **plain, num_kv_shared_layers=2, use_double_wide_mlp=True, final_logit_softcapping=3.0), dtype=torch.float32)
    decoder("gemma4_experts_plain", scaled(T.Gemma4ForCausalLM), text(
        **plain, hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=3, enable_moe_block=True,
        num_experts=6, top_k_experts=2, moe_intermediate_size=16), dtype=torch.float32)
    images = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                  head_dim=8, patch_size=4, position_embedding_size=16)
    decoder("gemma4_whole", scaled(T.Gemma4ForConditionalGeneration), T.Gemma4Config(
        text_config=gemma4(num_kv_shared_layers=1), vision_config=images, audio_config=None, image_token_id=50,
        boi_token_id=51, eoi_token_id=52))
    if is_wanted("gemma4_whole"):
        as_published(here / "gemma4_whole")


def as_published(folder):
    """With settings of heads for all layers of a kind."""
    config = json.loads((folder / "config.json").read_text())
    layers = config["text_config"].pop("per_layer_config")
    config["text_config"]["global_head_dim"] = layers["1"]["head_dim"]
    (folder / "config.json").write_text(json.dumps(config, indent=2))
