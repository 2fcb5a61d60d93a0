"""ESM, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import ENCODER, POSITIONS, VOCABULARY, Base, plain


def plain_models():
    yield plain(T.EsmForMaskedLM, T.EsmConfig, **ENCODER, pad_token_id=1, mask_token_id=12, layer_norm_eps=1e-5,
                emb_layer_norm_before=True, token_dropout=True, position_embedding_type="absolute", tie_word_embeddings=True)


def popular_models():
    layers = range(2)
    shape = ENCODER | dict(
        architectures=["EsmForMaskedLM"], attention_probs_dropout_prob=0.0, classifier_dropout=None,
        emb_layer_norm_before=False, esmfold_config=None, hidden_act="gelu", hidden_dropout_prob=0.0, initializer_range=0.02,
        is_folding_model=False, layer_norm_eps=1e-5, mask_token_id=12, model_type="esm", pad_token_id=1,
        position_embedding_type="rotary", token_dropout=True, torch_dtype="float32", transformers_version="4.25.0.dev0",
        use_cache=True, vocab_list=None, max_position_embeddings=POSITIONS, vocab_size=VOCABULARY)
    extra = {"esm.contact_head.regression.weight": [1, 8], "esm.contact_head.regression.bias": [1],
             "esm.embeddings.position_ids": [1, POSITIONS], "esm.embeddings.position_embeddings.weight": [POSITIONS, 24]}
    extra |= {f"esm.encoder.layer.{i}.attention.self.rotary_embeddings.inv_freq":
              [3] if i == 0 else ("like", "esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq") for i in layers}
    yield Esm("esm2_t6_8M_UR50D", shape, extra=extra)


class Esm(Base):
    """Files have frequencies in each layer, where transformers has one for all."""

    @property
    def shapes(self):
        return {name: shape for name, shape in Base.shapes.func(self).items()
                if not name.endswith("inv_freq") and "contact_head" not in name}
