"""The same as make_seeing.py for Gemma 4, which sees images of any size.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers safetensors
    venv/bin/python tests/architectures/make_gemma4_sees.py gemma4_sees
"""

import torch
import transformers as T

from make_gemma4 import gemma4
from make_pixtral import in_squares
from tiny import here, ids, rope, save

IMAGE = 50  # the token that an image's tokens have
PATCH = 4


def patches_of(pixels):
    """(3, height, width) as (rows, columns, 3, PATCH, PATCH)."""
    return pixels.unfold(1, PATCH, PATCH).unfold(2, PATCH, PATCH).permute(1, 2, 0, 3, 4)


def positions_of(rows, columns):
    """The column and the row of each patch."""
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).flip(1)


def padded(parts, value):
    longest = max(len(part) for part in parts)
    return torch.stack([torch.nn.functional.pad(part, (0, 0, 0, longest - len(part)), value=value) for part in parts])


def seeing(name, model, sizes, max_soft_tokens=70):
    """A prompt of two images of these sizes, in tokens; the first one also alone."""
    config, side = model.config, model.config.vision_config.pooling_kernel_size
    squares = side * PATCH
    grids = [patches_of(torch.rand(3, h * squares, w * squares, dtype=torch.float32).to(torch.float64)) for h, w in sizes]
    places = [positions_of(*grid.shape[:2]) for grid in grids]
    # transformers has the colours of a pixel side by side.
    seen = dict(pixel_values=padded([grid.permute(0, 1, 3, 4, 2).flatten(2).flatten(0, 1) for grid in grids], 0),
                image_position_ids=padded(places, -1))
    counts = [h * w for h, w in sizes]
    tokens = ids(1, sum(counts) + 9) % IMAGE
    for first, count in zip([2, 2 + counts[0] + 3], counts):
        tokens[0, first:first + count] = IMAGE
    mask = (tokens == IMAGE).to(torch.int32)
    together = config.text_config.use_bidirectional_attention == "vision"
    ahead = torch.zeros_like(mask)
    for i in reversed(range(mask.shape[1] - 1)):
        ahead[0, i] = ahead[0, i + 1] + 1 if mask[0, i] and mask[0, i + 1] else 0
    rows = len(grids[0])
    place = in_squares(places[0], rows, side)[None]
    # The model itself takes values times 2, minus 1.
    first = {"patches": in_squares(2 * grids[0].flatten(2).flatten(0, 1) - 1, rows, side)[None],
             "coordinates": place.flip(2), "patch_rows": place[..., 1], "patch_columns": place[..., 0],
             "lengths": torch.tensor([place.shape[1]])}

    class Graphs(dict):
        """What needs the model's numbers is computed when it is asked for."""

        def items(self):
            return [("encode_image", (first, lambda m: {"tokens": self.rows(m)[0][None]})),
                    ("decode", (self.inputs, self.run))]

        inputs = {"ids": torch.where(mask.bool(), config.text_config.pad_token_id, tokens),
                  "position": torch.zeros(1, dtype=torch.int32), "image_mask": mask} | (
                      {"image_ahead": ahead} if together else {})

        def rows(self, m):
            return m.model.get_image_features(**seen, return_dict=True).pooler_output

        def run(self, m):
            found = torch.cat(self.rows(m))
            self.inputs["image_rows"] = torch.zeros(*tokens.shape, found.shape[-1], dtype=torch.float64)
            self.inputs["image_rows"][mask.bool()] = found
            return {"logits": m(input_ids=tokens, **seen, mm_token_type_ids=mask).logits}

    if save(name, model, Graphs()):
        T.Gemma4ImageProcessor(patch_size=PATCH, pooling_kernel_size=side,
                               max_soft_tokens=max_soft_tokens).save_pretrained(here / name)


def whole(vision, tied=False, audio=None, **texts):
    """Factors of layers, and limits and norms of the part that sees, are no parameters."""
    vision = dict(hidden_size=32, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                  head_dim=8, patch_size=PATCH, position_embedding_size=80) | vision
    config = T.Gemma4Config(text_config=gemma4(max_position_embeddings=640, **texts), vision_config=vision,
                            audio_config=audio, image_token_id=IMAGE, boi_token_id=51, eoi_token_id=52,
                            tie_word_embeddings=tied)
    for part in (config, config.text_config, config.vision_config):
        part._attn_implementation = part._experts_implementation = "eager"
    model = T.Gemma4ForConditionalGeneration(config)
    for name, buffer in model.named_buffers():
        if name.endswith(("_min", "_max")):
            drawn = (-1) ** name.endswith("_min") * (0.5 + torch.rand(()))
        elif name.endswith(("layer_scalar", "std_scale")):
            drawn = 0.5 + torch.rand(buffer.shape)
        elif name.endswith("std_bias"):
            drawn = torch.randn(buffer.shape)
        else:
            continue
        buffer.copy_(drawn.half())
    return model


if __name__ == "__main__":
    # With these seeds no answer of seeing/make_any_size.py changes if a few pixels do by one step of 255.
    torch.manual_seed(47)
    model = whole(dict(use_clipped_linears=True, num_key_value_heads=2), num_kv_shared_layers=2, use_double_wide_mlp=True,
                  final_logit_softcapping=30.0, pad_token_id=3)
    limits = dict(model.named_buffers())
    limits["model.vision_tower.encoder.layers.0.self_attn.q_proj.input_min"].fill_(-torch.inf)
    for name, limit in limits.items():
        if ".layers.1.mlp.gate_proj.output_m" in name or name.endswith("layers.1.self_attn.o_proj.output_max"):
            limit.fill_(torch.inf if name.endswith("max") else -torch.inf)
    seeing("gemma4_sees", model, [(3, 5), (2, 1)])
    torch.manual_seed(8)
    seeing("gemma4_sees_together", whole(
        dict(standardize=True, pooling_kernel_size=2, head_dim=12, num_attention_heads=3, num_key_value_heads=3,
             hidden_activation="silu", rms_norm_eps=0.01, rope_parameters=rope("axial")),
        use_bidirectional_attention="vision", hidden_size_per_layer_input=0, sliding_window=7), [(4, 2), (1, 6)])
