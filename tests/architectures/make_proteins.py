"""Tiny models that read proteins: ESM."""

import torch
import transformers
from safetensors.torch import load_file, save_file

from make_encoders import encoder
from tiny import here, is_wanted, vocabulary


def proteins():
    T, mask = transformers, 17
    def rounded(model):  # frequencies are stored in half precision, and are then what the file has
        for name, buffer in model.named_buffers():
            if name.endswith("inv_freq"):
                buffer.copy_(buffer.half())
        return model
    bare = lambda r: {"hidden": r.last_hidden_state}
    logits = lambda r: {"logits": r.logits}
    sizes = lambda **more: T.EsmConfig(**dict(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=32, pad_token_id=1, mask_token_id=mask, layer_norm_eps=1e-5, token_dropout=True,
        position_embedding_type="rotary", rope_theta=700.0) | more)
    encoder("esm", rounded(T.EsmForMaskedLM(sizes())), logits, mask_id=mask)
    if is_wanted("esm"):
        as_published(here / "esm")
    absolute = sizes(position_embedding_type="absolute", emb_layer_norm_before=True, token_dropout=False)
    encoder("esm_absolute", T.EsmModel(absolute), lambda r: bare(r) | {"pooled": r.pooler_output}, mask_id=mask)
    encoder("esm_texts", rounded(T.EsmForSequenceClassification(sizes(num_labels=3))), logits, mask_id=mask)
    encoder("esm_tokens", rounded(T.EsmForTokenClassification(sizes(num_labels=3, tie_word_embeddings=False))), logits)


def as_published(folder):
    """With the frequencies in each layer, positions that are not used, and the head for contacts."""
    tensors = load_file(folder / "model.safetensors")
    frequencies = tensors.pop("esm.encoder.layer.*.attention.self.rotary_embeddings.inv_freq")
    for i in range(2):
        tensors[f"esm.encoder.layer.{i}.attention.self.rotary_embeddings.inv_freq"] = frequencies.clone()
    tensors["esm.embeddings.position_embeddings.weight"] = torch.randn(32, 36).half()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
