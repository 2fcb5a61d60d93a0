"""The same as make.py for models that write what images say.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors
    venv/bin/python tests/architectures/make_image_texts.py trocr
"""

import torch
import transformers as T

from make_images import patches_of, random_pixels, vit_like
from tiny import ids, save, vocabulary


def image_to_text(name, model, height=12, width=20, side=4, dtype=torch.float16):
    """Two images, and nine tokens of each text."""
    pixels, target = random_pixels(height, width), ids(2, 9)
    run = lambda m: m(pixel_values=pixels, decoder_input_ids=target)
    save(name, model, {
        "encode": ({"patches": patches_of(pixels, side)}, lambda m: {"hidden": run(m).encoder_last_hidden_state}),
        "decode": ({"ids": target, "position": torch.zeros(2, dtype=torch.int32)}, lambda m: {"logits": run(m).logits})},
         dtype)


def trocr(encoder, **more):
    """The widths of encoder and decoder differ, and so do the lengths of their heads."""
    return writer_of(encoder, T.TrOCRConfig(**dict(
        vocab_size=vocabulary, d_model=30, decoder_layers=2, decoder_attention_heads=5, decoder_ffn_dim=52,
        max_position_embeddings=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2) | more))


def vit_gpt2(encoder, **more):
    return writer_of(encoder, T.GPT2Config(**dict(
        vocab_size=vocabulary, n_embd=36, n_layer=2, n_head=3, n_positions=32, bos_token_id=0, eos_token_id=2,
        add_cross_attention=True, is_decoder=True) | more))


def vit_bert(encoder, **more):
    return writer_of(encoder, T.BertConfig(**dict(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=52,
        max_position_embeddings=32, type_vocab_size=2, add_cross_attention=True, is_decoder=True) | more))


def writer_of(encoder, decoder):
    config = T.VisionEncoderDecoderConfig(encoder=encoder.to_dict(), decoder=decoder.to_dict(), pad_token_id=1,
                                          bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    model = T.VisionEncoderDecoderModel(config)
    model.generation_config = T.GenerationConfig(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    return model


def trocrs():
    image_to_text("trocr", trocr(T.ViTConfig(**vit_like(qkv_bias=False)), cross_attention_hidden_size=36))
    image_to_text("trocr_projected", trocr(T.ViTConfig(**vit_like(hidden_act="gelu_new", image_size=15, patch_size=5)),
                                           use_learned_position_embeddings=False, layernorm_embedding=False,
                                           scale_embedding=True, tie_word_embeddings=False,
                                           activation_function="relu"), 15, 15, 5, torch.bfloat16)
    image_to_text("trocr_deit", trocr(T.DeiTConfig(**vit_like()), d_model=36, decoder_attention_heads=3, decoder_layers=1,
                                      scale_embedding=True, activation_function="relu"))
    image_to_text("trocr_sinusoids", trocr(T.DeiTConfig(**vit_like(num_hidden_layers=1)), pad_token_id=0,
                                           use_learned_position_embeddings=False, cross_attention_hidden_size=36))


def blip(name, texts=(), images=(), tie=True, side=4, size=12):
    """Texts begin with the token 5."""
    config = T.BlipConfig(
        text_config=dict(vocab_size=vocabulary, hidden_size=30, num_hidden_layers=2, num_attention_heads=5,
                         intermediate_size=52, max_position_embeddings=32, bos_token_id=5, eos_token_id=3, sep_token_id=2,
                         pad_token_id=1) | dict(texts),
        vision_config=dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44, image_size=size,
                           patch_size=side) | dict(images), tie_word_embeddings=tie)
    pixels, target = random_pixels(size, size), ids(2, 9)
    run = lambda m: m(pixel_values=pixels, input_ids=target)
    save(name, T.BlipForConditionalGeneration(config), {
        "encode": ({"patches": patches_of(pixels, side)}, lambda m: {"hidden": run(m).last_hidden_state}),
        "decode": ({"ids": target, "position": torch.zeros(2, dtype=torch.int32)}, lambda m: {"logits": run(m).logits})})


if __name__ == "__main__":
    torch.manual_seed(11)
    trocrs()
    blip("blip")
    blip("blip_untied", dict(hidden_act="relu", layer_norm_eps=1e-3, tie_word_embeddings=False, hidden_size=36,
                             num_attention_heads=3, num_hidden_layers=1),
         dict(hidden_act="gelu_new", layer_norm_eps=1e-2), tie=False, side=3, size=17)
    image_to_text("vit_gpt2", vit_gpt2(T.ViTConfig(**vit_like())))
    image_to_text("vit_gpt2_projected", vit_gpt2(T.DeiTConfig(**vit_like(image_size=15, patch_size=5)), n_embd=30, n_head=5,
                                                 n_inner=52, activation_function="relu", tie_word_embeddings=False,
                                                 scale_attn_by_inverse_layer_idx=True, scale_attn_weights=False,
                                                 layer_norm_epsilon=1e-3), 15, 15, 5)
    image_to_text("vit_bert", vit_bert(T.ViTConfig(**vit_like())))
    image_to_text("vit_bert_projected", vit_bert(T.DeiTConfig(**vit_like()), hidden_size=30, num_attention_heads=5,
                                                 hidden_act="relu", layer_norm_eps=1e-3, type_vocab_size=1,
                                                 tie_word_embeddings=False), dtype=torch.bfloat16)
