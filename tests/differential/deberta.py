"""DeBERTa of all versions, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import ENCODER, POSITIONS, VOCABULARY, Base, plain
from popular import labels


def plain_models():
    yield plain(T.DebertaV2ForMaskedLM, T.DebertaV2Config, **ENCODER, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=0,
                type_vocab_size=2, embedding_size=16, position_biased_input=True, relative_attention=True,
                pos_att_type=["c2p", "p2c"], share_att_key=False, position_buckets=6, max_relative_positions=9,
                norm_rel_ebd="layer_norm", conv_kernel_size=3, conv_act="gelu", conv_groups=1, legacy=True,
                tie_word_embeddings=True)


    yield plain(T.DebertaForMaskedLM, T.DebertaConfig, **ENCODER, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=0,
                type_vocab_size=2, embedding_size=16, position_biased_input=True, relative_attention=True,
                pos_att_type=["c2p", "p2c"], max_relative_positions=9, legacy=True, tie_word_embeddings=True)


def popular_models():
    shape = ENCODER | dict(
        attention_probs_dropout_prob=0.1, hidden_act="gelu", hidden_dropout_prob=0.1, initializer_range=0.02,
        layer_norm_eps=1e-7, max_relative_positions=-1, model_type="deberta-v2", norm_rel_ebd="layer_norm", pad_token_id=0,
        pooler_dropout=0, pooler_hidden_act="gelu", pooler_hidden_size=24, pos_att_type="p2c|c2p",
        position_biased_input=False, position_buckets=8, relative_attention=True, share_att_key=True, type_vocab_size=0)
    head = lambda name: {f"{name}.dense.weight": [24, 24], f"{name}.dense.bias": [24], f"{name}.LayerNorm.weight": [24],
                         f"{name}.LayerNorm.bias": [24]}
    pretrained = head("lm_predictions.lm_head") | {
        "lm_predictions.lm_head.bias": [VOCABULARY], "deberta.embeddings.position_embeddings.weight": [POSITIONS, 24]} | {
        name: shape for part, out in (("dense", 24), ("LayerNorm", None), ("classifier", 1)) for name, shape in (
            (f"mask_predictions.{part}.weight", [24] if out is None else [out, 24]),
            (f"mask_predictions.{part}.bias", [out or 24]))}
    yield Base("deberta-v3-base", shape | dict(architectures=["DebertaV2Model"]), rename=lambda name: "deberta." + name,
               extra=pretrained)
    nli = {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"},
           "label2id": {"entailment": 0, "neutral": 1, "contradiction": 2}}
    yield Base("DeBERTa-v3-base-mnli-fever-anli", shape | nli | dict(
        _name_or_path="microsoft/deberta-v3-base", architectures=["DebertaV2ForSequenceClassification"],
        torch_dtype="float32", transformers_version="4.16.2"), extra={"deberta.embeddings.position_ids": [1, POSITIONS]})
    yield Base("mxbai-rerank-base-v1", shape | labels(["LABEL_0"]) | dict(
        _name_or_path="mixedbread-ai/mxbai-rerank-base-v1", architectures=["DebertaV2ForSequenceClassification"],
        torch_dtype="float16", transformers_version="4.38.1"))
    first = {key: value for key, value in shape.items() if key not in (
        "norm_rel_ebd", "position_buckets", "share_att_key")} | dict(model_type="deberta", pos_att_type="c2p|p2c")
    yield Base("deberta-base-mnli", first | dict(architectures=["DebertaForSequenceClassification"]) | labels(
        ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]))
    xlarge = shape | dict(architectures=["DebertaV2ForTokenClassification"], attention_head_size=6, conv_act="gelu",
                          conv_kernel_size=3) | labels(["O", "B-PER", "I-PER"])
    yield Base("deberta-v2-xlarge-ner", xlarge)
