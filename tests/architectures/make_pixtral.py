"""The same as make_seeing.py for models that see images of any size with Pixtral's vision transformer.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors
    venv/bin/python tests/architectures/make_pixtral.py mistral3_sees
"""

import json

import torch
import transformers as T

from tiny import here, ids, llama_like, rope, save

IMAGE = 50  # the token that an image's tokens have
PATCH = 4


def in_squares(patches, rows, merge):
    """Patches row by row as squares of `merge` a side, one after the other."""
    columns = len(patches) // rows
    return patches.reshape(rows // merge, merge, columns // merge, merge, -1).transpose(1, 2).flatten(0, 3)


def patches_of(pixels):
    """(3, height, width) as (rows, columns, 3 * PATCH * PATCH)."""
    return pixels.unfold(1, PATCH, PATCH).unfold(2, PATCH, PATCH).permute(1, 2, 0, 3, 4).flatten(2)


def seeing(name, model, sizes, size):
    """A prompt of two images of these sizes, in tokens; the first one also alone. `size`: of the preprocessor."""
    config = model.config
    merge = getattr(config, "spatial_merge_size", 1)
    side = PATCH * merge
    images = [torch.randn(3, h * side, w * side, dtype=torch.float32).to(torch.float64) for h, w in sizes]
    tallest, widest = (max(image.shape[axis] for image in images) for axis in (1, 2))
    pixels = torch.stack([torch.nn.functional.pad(image, (0, widest - image.shape[2], 0, tallest - image.shape[1]))
                          for image in images])
    image_sizes = torch.tensor([image.shape[1:] for image in images])
    counts = [h * w for h, w in sizes]
    tokens = ids(1, sum(counts) + 9) % IMAGE
    for first, count in zip([2, 2 + counts[0] + 3], counts):
        tokens[0, first:first + count] = IMAGE
    mask = (tokens == IMAGE).to(torch.int32)
    rows, columns = sizes[0][0] * merge, sizes[0][1] * merge
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    first = {"patches": in_squares(patches_of(images[0]).flatten(0, 1), rows, merge)[None],
             "coordinates": in_squares(places, rows, merge)[None], "lengths": torch.tensor([rows * columns])}

    class Graphs(dict):
        """What needs the model's numbers is computed when it is asked for."""

        def items(self):
            return [("encode_image", (first, lambda m: {"tokens": self.seen(m)[0][None]})),
                    ("decode", (self.inputs, self.run))]

        inputs = {"ids": tokens, "position": torch.zeros(1, dtype=torch.int32), "image_mask": mask}

        def seen(self, m):
            return m.model.get_image_features(pixels, image_sizes=image_sizes, return_dict=True).pooler_output

        def run(self, m):
            seen = torch.cat(self.seen(m))
            self.inputs["image_rows"] = torch.zeros(*tokens.shape, seen.shape[-1], dtype=torch.float64)
            self.inputs["image_rows"][mask.bool()] = seen
            return {"logits": m(input_ids=tokens, pixel_values=pixels, image_sizes=image_sizes).logits}

    if save(name, model, Graphs()):
        T.PixtralImageProcessor(patch_size={"height": PATCH, "width": PATCH}, size=size).save_pretrained(here / name)
        processor = dict(image_token="<image>", image_break_token="w46", image_end_token="w47", patch_size=PATCH,
                         processor_class="PixtralProcessor", spatial_merge_size=merge)
        (here / name / "processor_config.json").write_text(json.dumps(processor, indent=2) + "\n")


def whole(kind, texts, vision, **more):
    vision = dict(hidden_size=24, intermediate_size=28, num_hidden_layers=3, num_attention_heads=3, image_size=40) | vision
    config = kind(text_config=texts, vision_config=T.PixtralVisionConfig(patch_size=PATCH, **vision),
                  image_token_index=IMAGE, **more)
    for part in (config, config.text_config, config.vision_config):
        part._attn_implementation = "eager"
    return config


if __name__ == "__main__":
    # With these seeds no answer of seeing/make_any_size.py changes if a few pixels do by one step of 255.
    torch.manual_seed(39)
    mistral = T.MistralConfig(**llama_like(head_dim=8, sliding_window=None, rms_norm_eps=0.01))
    seeing("mistral3_sees", T.Mistral3ForConditionalGeneration(whole(
        T.Mistral3Config, mistral, dict(hidden_act="silu"), tie_word_embeddings=False)), [(3, 5), (2, 1)],
        {"longest_edge": 40})
    torch.manual_seed(36)
    scaled = rope("yarn", factor=16.0, original_max_position_embeddings=64, max_position_embeddings=64, mscale=1.0,
                  mscale_all_dim=1.0, beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1)
    seeing("mistral3_sees_ministral3", T.Mistral3ForConditionalGeneration(whole(
        T.Mistral3Config, T.Ministral3Config(**llama_like(head_dim=16, rope_parameters=scaled)),
        dict(num_attention_heads=2, rope_parameters=rope("axial")), spatial_merge_size=3, vision_feature_layer=[-2],
        projector_hidden_act="relu", multimodal_projector_bias=True, tie_word_embeddings=True)), [(1, 4), (3, 2)],
        {"height": 50, "width": 50})
    torch.manual_seed(47)
    seeing("llava_pixtral_sees", T.LlavaForConditionalGeneration(whole(
        T.LlavaConfig, T.MistralConfig(**llama_like(sliding_window=None)), dict(), vision_feature_layer=[1, -1, 0],
        vision_feature_select_strategy="full")), [(6, 3), (2, 5)], {"longest_edge": 21})
