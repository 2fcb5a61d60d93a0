"""Tiny models that read texts."""

import json
import re

import torch
import transformers
from safetensors.torch import load_file, save_file

from tiny import here, ids, is_wanted, llama_like, rope, save, save_golden, vocabulary


def encoder(name, model, outputs, types=0, length=11, mask_id=None, dtype=torch.float16, separators=()):
    tokens, lengths = ids(3, length), torch.tensor([length, 4, 7])
    if mask_id is not None:
        tokens[0, 2] = tokens[0, 5] = tokens[2, 3] = mask_id
    for row, places in enumerate(separators):
        tokens[row, places] = model.config.sep_token_id
    mask = torch.arange(length)[None] < lengths[:, None]
    tokens = tokens * mask + model.config.pad_token_id * ~mask
    kinds = torch.randint(0, max(types, 1), tokens.shape)
    given = {"ids": tokens, "lengths": lengths} | ({"token_types": kinds} if types else {})

    def run(m):
        more = {"token_type_ids": kinds} if types else {}
        results = outputs(m(input_ids=tokens, attention_mask=mask.to(torch.int64), **more))
        # Values after the end of a sequence are meaningless in both.
        return {k: v * mask[:, :, None] if v.dim() == 3 else v for k, v in results.items()}

    save(name, model, {"encode": (given, run)}, dtype)


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


def published_gte(name, model, outputs, types=0, factor=0.0):
    """As the makers of GTE published it, with code of their own, whose rotary positions by NTK transformers does not have:
    github.com/huggingface/text-embeddings-inference, backends/candle/src/layers/rotary.rs."""
    theta, rotary = 500.0, model.base_model.rotary_emb
    channels = 2 * len(rotary.inv_freq)
    pairs = torch.arange(len(rotary.inv_freq), dtype=torch.float64)
    rotary.inv_freq = 1 / (theta * max(factor, 1)) ** (2 * pairs / channels) / max(factor, 1) ** (2 / channels)
    encoder(name, model, outputs, types)
    if not is_wanted(name):
        return
    file, config = here / name / "model.safetensors", here / name / "config.json"
    save_file({re.sub("^gte[.]", "new.", t): v for t, v in load_file(file).items()}, file, metadata={"format": "pt"})
    written = json.loads(config.read_text())
    del written["rope_parameters"]
    written |= {"model_type": "new", "architectures": [name.replace("Gte", "New") for name in written["architectures"]],
                "rope_theta": theta, "layer_norm_type": "layer_norm", "logn_attention_clip1": False,
                "logn_attention_scale": False, "pack_qkv": True, "position_embedding_type": "rope", "unpad_inputs": False,
                "use_memory_efficient_attention": False, "rope_scaling": {"factor": factor, "type": "ntk"} if factor else None}
    config.write_text(json.dumps(written, indent=2) + "\n")


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
    disentangled_encoders(sizes, logits, answers)
    windowed_encoders(sizes, hidden, logits, answers)
    sentences()
    in_bert_gguf()
    reading_decoders()


def disentangled_encoders(sizes, logits, answers):
    """DeBERTa: each of its products, and none of them; distances in buckets, and one by one."""
    T = transformers
    deberta = lambda **more: T.DebertaV2Config(**sizes | dict(
        relative_attention=True, position_biased_input=False, pos_att_type="p2c|c2p", share_att_key=True, position_buckets=6,
        max_relative_positions=9, norm_rel_ebd="layer_norm") | more)
    encoder("deberta", T.DebertaV2Model(deberta()), lambda r: {"hidden": r.last_hidden_state}, length=23)
    if is_wanted("deberta"):
        file = here / "deberta" / "config.json"  # as published files have it
        file.write_text(json.dumps(json.loads(file.read_text()) | {"pos_att_type": "P2C | c2p"}, indent=2) + "\n")
    first = lambda **more: T.DebertaConfig(**sizes | dict(
        relative_attention=True, position_biased_input=False, pos_att_type="c2p|p2c", max_relative_positions=9) | more)
    encoder("deberta_first", T.DebertaForSequenceClassification(first(num_labels=3)), logits, length=23)
    encoder("deberta_first_masked", T.DebertaForMaskedLM(first(
        pos_att_type=["p2c", "p2c"], max_relative_positions=-1, position_biased_input=True, type_vocab_size=2,
        embedding_size=20)), logits, types=2)
    encoder("deberta_first_tokens", T.DebertaForTokenClassification(first(num_labels=4, pos_att_type="c2p")), logits)
    encoder("deberta_texts", T.DebertaV2ForSequenceClassification(deberta(
        num_labels=3, pos_att_type=["c2p"], share_att_key=False, position_buckets=-1, max_relative_positions=5,
        position_biased_input=True, type_vocab_size=2, embedding_size=20, pooler_hidden_act="tanh")), logits, types=2)
    encoder("deberta_masked", T.DebertaV2ForMaskedLM(deberta(
        pos_att_type="P2C", embedding_size=20, conv_kernel_size=3, conv_act="gelu", conv_groups=2,
        norm_rel_ebd="none")), logits)
    encoder("deberta_new_head", T.DebertaV2ForMaskedLM(deberta(
        legacy=False, share_att_key=False, conv_kernel_size=5, max_relative_positions=-1, hidden_act="relu")), logits)
    encoder("deberta_tokens", T.DebertaV2ForTokenClassification(deberta(num_labels=4, relative_attention=False)), logits)
    encoder("deberta_answers", T.DebertaV2ForQuestionAnswering(deberta(pos_att_type=None)), answers)


def windowed_encoders(sizes, hidden, logits, answers):
    """Longformer: windows that are shorter and longer than texts, and questions that are longer than a window."""
    T = transformers
    longformer = lambda *windows, **more: T.LongformerConfig(**sizes | dict(
        attention_window=list(windows), type_vocab_size=2, pad_token_id=1, sep_token_id=2) | more)
    encoder("longformer", T.LongformerModel(longformer(4, 8)), hidden, types=2, length=23)
    encoder("longformer_masked", T.LongformerForMaskedLM(longformer(
        6, 6, hidden_act="relu", layer_norm_eps=1e-5)), logits, types=2, length=26)
    if is_wanted("longformer_masked"):
        file = here / "longformer_masked" / "config.json"  # transformers writes one for each layer
        file.write_text(json.dumps(json.loads(file.read_text()) | {"attention_window": 6}, indent=2) + "\n")
    encoder("longformer_texts", T.LongformerForSequenceClassification(longformer(
        4, 12, num_labels=3, pad_token_id=3)), logits, types=2, length=23)
    encoder("longformer_short_texts", T.LongformerForSequenceClassification(longformer(64, 32, num_labels=1)), logits,
            types=2)
    other_heads("longformer_tokens", T.LongformerForTokenClassification(longformer(10, 10, num_labels=4)), logits,
                T.LongformerForMaskedLM, types=2)
    encoder("longformer_answers", T.LongformerForQuestionAnswering(longformer(8, 4, sep_token_id=5, type_vocab_size=1)),
            answers, types=1, length=27, separators=[[13, 14, 26], [1, 2, 3], [3, 4, 6]])
    encoder("longformer_short_answers", T.LongformerForQuestionAnswering(longformer(64, 64)), answers, types=2,
            separators=[[5, 6, 10], [1, 2, 3], [2, 3, 6]])


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
    encoder("nomic_bert_plain", T.NomicBertModel(nomic(), add_pooling_layer=False),
            lambda r: {"hidden": r.last_hidden_state}, types=2)
    encoder("nomic_bert_masked", T.NomicBertForMaskedLM(nomic(hidden_act="gelu", head_dim=10)), logits, types=2)
    encoder("nomic_bert_texts", T.NomicBertForSequenceClassification(nomic(num_labels=3)), logits, types=2)
    encoder("nomic_bert_tokens", T.NomicBertForTokenClassification(nomic(num_labels=3)), logits, types=2)
    gte = lambda **more: T.GteConfig(**sizes | dict(num_attention_heads=3, type_vocab_size=0) | more)
    encoder("gte", T.GteModel(gte()), bare)
    encoder("gte_masked", T.GteForMaskedLM(gte(type_vocab_size=2)), logits, types=2)
    encoder("gte_texts", T.GteForSequenceClassification(gte(num_labels=1, hidden_act="silu")), logits)
    published_gte("gte_published", T.GteModel(gte(type_vocab_size=1)), bare, types=1)
    published_gte("gte_published_texts", T.GteForSequenceClassification(gte(num_labels=1)), logits, factor=8.0)
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


def in_bert_gguf():
    """What GGUF files store as a BERT: positions there begin after those of padding."""
    config = lambda **more: transformers.XLMRobertaConfig(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=1, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=34, type_vocab_size=1, pad_token_id=1, **more)
    encoder("xlm_roberta_plain", transformers.XLMRobertaModel(config(), add_pooling_layer=False),
            lambda r: {"hidden": r.last_hidden_state}, types=1)
    encoder("xlm_roberta_ranker", transformers.XLMRobertaForSequenceClassification(config(num_labels=1)),
            lambda r: {"logits": r.logits}, types=1)
    encoder("xlm_roberta_labels", transformers.XLMRobertaForSequenceClassification(config(
        id2label={0: "bad", 1: "good", 2: "so so"}, label2id={"bad": 0, "good": 1, "so so": 2})),
        lambda r: {"logits": r.logits}, types=1)


def sentences():
    """Folders as written by sentence-transformers: pooling, then normalization to length 1."""
    hidden = lambda r: {"hidden": r.last_hidden_state}
    encoder("sentences", transformers.BertModel(transformers.BertConfig(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=1, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=32), add_pooling_layer=False), hidden, types=2)
    pool("sentences", "mean", lambda x, lengths: x.sum(1) / lengths[:, None])  # zeros after the ends
    encoder("sentences_of_qwen3", transformers.Qwen3Model(transformers.Qwen3Config(**llama_like(head_dim=8))), hidden)
    pool("sentences_of_qwen3", "lasttoken", lambda x, lengths: x[torch.arange(len(x)), lengths - 1])
    encoder("sentences_of_qwen2", transformers.Qwen2Model(transformers.Qwen2Config(
        **llama_like(is_causal=False))), hidden)  # like gte-Qwen2
    pool("sentences_of_qwen2", "lasttoken", lambda x, lengths: x[torch.arange(len(x)), lengths - 1])
    asked = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**llama_like(
        head_dim=8, tie_word_embeddings=True, max_position_embeddings=256)))
    difference = lambda r, lengths: (r.logits[..., 41] - r.logits[..., 17])[torch.arange(3), lengths - 1][:, None]
    encoder("asked_of_qwen3", asked, lambda r: {"logits": difference(r, torch.tensor([11, 4, 7]))})
    ask("asked_of_qwen3", 41, 17)
    # EmbeddingGemma, whose tokens see those behind them, in layers with a window, too.
    gemma = dict(head_dim=8, sliding_window=7, use_bidirectional_attention=True)
    for name, scalar, dtype in (("", 12, torch.float16), ("_plain", 8, torch.float32)):  # plain: as GGUF can express
        config = transformers.Gemma3TextConfig(**llama_like(**gemma, query_pre_attn_scalar=scalar))
        encoder("sentences_of_gemma3" + name, transformers.Gemma3TextModel(config), hidden, dtype=dtype)
        pool("sentences_of_gemma3" + name, "mean", lambda x, lengths: x.sum(1) / lengths[:, None])


def ask(name, wanted, other):
    """As sentence-transformers writes a reranker that asks a decoder."""
    if not is_wanted(name):
        return
    module = "sentence_transformers."
    (here / name / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": module + "base.modules.transformer.Transformer"},
        {"idx": 1, "name": "1", "path": "1_LogitScore", "type": module + "cross_encoder.modules.logit_score.LogitScore"}]))
    (here / name / "sentence_bert_config.json").write_text(json.dumps({"transformer_task": "text-generation"}))
    (here / name / "1_LogitScore").mkdir(exist_ok=True)
    (here / name / "1_LogitScore/config.json").write_text(json.dumps({
        "module_input_name": "causal_logits", "true_token_id": wanted, "false_token_id": other}))


def pool(name, kind, pooled):
    if not is_wanted(name):
        return
    folder = here / name
    module = "sentence_transformers.models."
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": module + "Normalize"}]))
    (folder / "1_Pooling").mkdir()
    kinds = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "lasttoken")
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 36} | {
        f"pooling_mode_{each}": each.startswith(kind) and "sqrt" not in each for each in kinds}))
    tensors = load_file(folder / "golden.safetensors")
    inputs, outputs = ({name.removeprefix(kind): value for name, value in tensors.items() if name.startswith(kind)}
                       for kind in ("in.encode.", "out.encode."))
    vectors = pooled(outputs["hidden"].to(torch.float64), inputs["lengths"].long())
    save_golden(folder, {"encode": (inputs, outputs | {"embedding": torch.nn.functional.normalize(vectors)})})
