"""LayoutLMv3, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import ENCODER, POSITIONS, Base, plain
from popular import labels

SIZES = ENCODER | dict(coordinate_size=4, shape_size=4, max_2d_position_embeddings=40, input_size=12, patch_size=4,
                       num_channels=3, type_vocab_size=2)


def plain_models():
    yield plain(T.LayoutLMv3ForTokenClassification, T.LayoutLMv3Config, **SIZES, hidden_act="gelu", layer_norm_eps=1e-5,
                pad_token_id=1, has_relative_attention_bias=True, rel_pos_bins=8, max_rel_pos=9,
                has_spatial_attention_bias=True, rel_2d_pos_bins=10, max_rel_2d_pos=300, text_embed=True,
                visual_embed=True)


def popular_models():
    shape = SIZES | dict(
        attention_probs_dropout_prob=0.1, bos_token_id=0, classifier_dropout=None, eos_token_id=2,
        has_relative_attention_bias=True, has_spatial_attention_bias=True, hidden_act="gelu", hidden_dropout_prob=0.1,
        initializer_range=0.02, layer_norm_eps=1e-05, max_rel_2d_pos=256, max_rel_pos=128, model_type="layoutlmv3",
        pad_token_id=1, rel_2d_pos_bins=64, rel_pos_bins=32, second_input_size=112, text_embed=True, torch_dtype="float32",
        visual_embed=True, type_vocab_size=1)
    ids = {"layoutlmv3.embeddings.position_ids": [1, POSITIONS]}
    yield Base("layoutlmv3-base", shape | dict(architectures=["LayoutLMv3Model"], transformers_version="4.12.5"),
               rename=lambda name: "layoutlmv3." + name, extra=ids)
    yield Base("layoutlmv3-base-finetuned-funsd", shape | dict(
        _name_or_path="microsoft/layoutlmv3-base", architectures=["LayoutLMv3ForTokenClassification"],
        transformers_version="4.19.0.dev0") | labels(["O", "B-HEADER", "I-HEADER", "B-QUESTION", "I-QUESTION"]), extra=ids)
    yield Base("layoutlmv3-finetuned-cord", shape | dict(
        architectures=["LayoutLMv3ForTokenClassification"], transformers_version="4.30.2") | labels(
            [f"LABEL_{i}" for i in range(12)]), extra=ids)
    yield Base("layoutlmv3-base-rvlcdip", shape | dict(architectures=["LayoutLMv3ForSequenceClassification"]) | labels(
        ["letter", "form", "email"]), extra=ids)
