"""Tiny models with an encoder and a decoder."""

import json

import torch
import transformers

from tiny import here, ids, save, vocabulary


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


def classifier(name, **more):
    """Texts end with eos; the longest has as many tokens as there are positions."""
    config = transformers.BartConfig(
        vocab_size=vocabulary, d_model=36, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=6, encoder_ffn_dim=44, decoder_ffn_dim=52, max_position_embeddings=24, pad_token_id=1,
        bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, num_labels=3, **more)
    tokens, lengths = ids(3, 24), torch.tensor([24, 4, 7])
    mask = torch.arange(24)[None] < lengths[:, None]
    tokens[torch.arange(3), lengths - 1] = config.eos_token_id
    tokens = tokens * mask + config.pad_token_id * ~mask
    save(name, transformers.BartForSequenceClassification(config), {"encode": (
        {"ids": tokens, "lengths": lengths},
        lambda m: {"logits": m(input_ids=tokens, attention_mask=mask.to(torch.int64)).logits})})


def encoder_decoders():
    # As GGUF files have them: distances up to 128.
    encoder_decoder("t5_plain", t5(relative_attention_max_distance=128))
    gated = t5(relative_attention_max_distance=128, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    gated.lm_head.weight = torch.nn.Parameter(torch.randn(gated.lm_head.weight.shape))
    encoder_decoder("t5_gated_plain", gated)
    classifier("bart_texts")
    classifier("bart_texts_scaled", scale_embedding=True, tie_word_embeddings=False, activation_function="relu")
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
    # As published, which GGUF files can say.
    plain = transformers.MT5ForConditionalGeneration(transformers.MT5Config(
        **sizes | {"relative_attention_max_distance": 128}))
    plain.lm_head.weight = torch.nn.Parameter(torch.zeros(vocabulary, 36))
    encoder_decoder("mt5_plain", plain)


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
