"""Moonshine, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import POSITIONS, VOCABULARY, Base, plain

SIZES = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=20, encoder_num_hidden_layers=2,
             decoder_num_hidden_layers=1, encoder_num_attention_heads=2, decoder_num_attention_heads=2,
             max_position_embeddings=POSITIONS)


def plain_models():
    yield plain(T.MoonshineForConditionalGeneration, T.MoonshineConfig, **SIZES, encoder_num_key_value_heads=2,
                decoder_num_key_value_heads=2, encoder_hidden_act="gelu", decoder_hidden_act="silu", attention_bias=False,
                tie_word_embeddings=True, pad_head_dim_to_multiple_of=8,
                rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.9})


def popular_models():
    yield Base("moonshine-tiny", SIZES | dict(
        architectures=["MoonshineForConditionalGeneration"], attention_bias=False, attention_dropout=0.0, bos_token_id=1,
        decoder_hidden_act="silu", decoder_num_key_value_heads=2, decoder_start_token_id=1, encoder_hidden_act="gelu",
        encoder_num_key_value_heads=2, eos_token_id=2, initializer_range=0.02, is_encoder_decoder=True,
        model_type="moonshine", pad_head_dim_to_multiple_of=8, partial_rotary_factor=0.9, rope_scaling=None,
        rope_theta=10000.0, torch_dtype="float32", transformers_version="4.48.0.dev0", use_cache=True))
