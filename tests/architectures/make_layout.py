"""Tiny models that read pages: words, where they stand, and the page's image."""

import torch
import transformers as T

from make_images import patches_of
from tiny import ids, save, vocabulary


def page(name, model, outputs, side=12, length=11, dtype=torch.float16):
    """`side`: of images, in pixels; 0: there are none."""
    config = model.config
    tokens, lengths = ids(3, length), torch.tensor([length, 4, 7])
    mask = torch.arange(length)[None] < lengths[:, None]
    tokens = tokens * mask + config.pad_token_id * ~mask
    kinds = torch.randint(0, config.type_vocab_size, tokens.shape)
    boxes = torch.randint(0, min(config.max_2d_position_embeddings, 1001), (3, length, 4))
    boxes[0, :, 2:] = torch.maximum(boxes[0, :, :2], boxes[0, :, 2:])  # those of other pages may be inside out
    given = {"ids": tokens, "lengths": lengths, "token_types": kinds, "boxes": boxes}
    more = {}
    if side:
        more["pixel_values"] = torch.randn(3, 3, side, side, dtype=torch.float32).to(torch.float64)
        given["patches"] = patches_of(more["pixel_values"], config.patch_size)

    def run(m):
        results = outputs(m(input_ids=tokens, attention_mask=mask.to(torch.int64), token_type_ids=kinds, bbox=boxes, **more))
        of_words = {key: rows[:, :length] * mask[:, :, None] if rows.dim() == 3 else rows for key, rows in results.items()}
        image = results["hidden"][:, length:] if "hidden" in results else torch.zeros(3, 0)
        return of_words | ({"image_hidden": image} if image.numel() else {})

    save(name, model, {"encode": (given, run)}, dtype)


def layouts():
    sizes = dict(vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=4, intermediate_size=44,
                 max_position_embeddings=32, pad_token_id=1, coordinate_size=7, shape_size=4, input_size=12, patch_size=4)
    config = lambda **more: T.LayoutLMv3Config(**sizes | more)
    hidden = lambda r: {"hidden": r.last_hidden_state}
    logits = lambda r: {"logits": r.logits}
    answers = lambda r: {"logits": torch.stack([r.start_logits, r.end_logits], -1)}
    page("layoutlmv3", T.LayoutLMv3Model(config()), hidden, length=9)  # fewer words than rows of the image
    page("layoutlmv3_tokens", T.LayoutLMv3ForTokenClassification(config(
        num_labels=5, rel_pos_bins=8, max_rel_pos=9, rel_2d_pos_bins=6, max_rel_2d_pos=300, hidden_act="relu",
        layer_norm_eps=1e-3)), logits)
    page("layoutlmv3_many_labels", T.LayoutLMv3ForTokenClassification(config(
        num_labels=11, has_spatial_attention_bias=False, type_vocab_size=1)), logits, dtype=torch.bfloat16)
    page("layoutlmv3_texts", T.LayoutLMv3ForSequenceClassification(config(
        num_labels=3, has_relative_attention_bias=False, max_2d_position_embeddings=600, pad_token_id=0)), logits)
    page("layoutlmv3_answers", T.LayoutLMv3ForQuestionAnswering(config(
        has_relative_attention_bias=False, has_spatial_attention_bias=False, coordinate_size=4, shape_size=10,
        input_size=17, patch_size=5)), answers, side=17)
    page("layoutlmv3_words", T.LayoutLMv3ForTokenClassification(config(num_labels=3, visual_embed=False)), logits, side=0)
    page("layoutlmv3_words_plain", T.LayoutLMv3Model(config(
        visual_embed=False, has_relative_attention_bias=False)), hidden, side=0)
