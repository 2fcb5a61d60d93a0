"""The same as make.py for models that see and talk.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers safetensors
    venv/bin/python tests/architectures/make_seeing.py llava
"""

import torch
import transformers as T

from make_images import patches_of, random_pixels
from tiny import here, ids, llama_like, save, vocabulary

IMAGE = 50  # the token that an image's tokens have


def vision(kind=T.CLIPVisionConfig, **more):
    return kind(**dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=4, intermediate_size=52, image_size=12,
                       patch_size=4) | more)


def tower(vision_config):
    """Its preprocessor."""
    side = vision_config.image_size
    if vision_config.model_type == "clip_vision_model":
        return T.CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
    return T.SiglipImageProcessor(size={"height": side, "width": side})


def in_squares(patches, merge):
    """Patches row by row as squares of `merge` a side, one after the other."""
    side = int(patches.shape[1] ** 0.5)
    return patches.unflatten(1, (side // merge, merge, side // merge, merge)).transpose(2, 3).flatten(1, 4)


def seeing(name, model, all_rows, skip, processor=None, merge=1, ahead="", tiled=False):
    """A prompt of two images. `all_rows`: of the model and pixels, what the graph gives; the first `skip` rows of each image
    are not among its tokens. `merge`: patches come in squares of so many a side. `ahead`: tokens see each other,
    those of an "image" or of the "prompt", which is all but the last three. `tiled`: the model takes several images for
    one."""
    config, sees = model.config, model.config.vision_config
    side, patch = (size if isinstance(size, int) else size[0] for size in (sees.image_size, sees.patch_size))
    pixels = random_pixels(side, side)
    with torch.no_grad():
        count = all_rows(model, pixels.to(model.dtype)).shape[1] - skip
    tokens = ids(1, 2 * count + 9) % IMAGE
    at = [2, 2 + count + 3]  # where images begin
    for first in at:
        tokens[0, first:first + count] = IMAGE
    mask = (tokens == IMAGE).to(torch.int32)

    def rows(m):
        out = torch.zeros(*tokens.shape, config.text_config.hidden_size, dtype=torch.float64)
        for first, image in zip(at, all_rows(m, pixels)):
            out[0, first:first + count] = image[skip:]
        return out

    class Graphs(dict):
        """What needs the model's numbers is computed when it is asked for."""

        def items(self):
            return [("encode_image", ({"patches": in_squares(patches_of(pixels, patch), merge)},
                                      lambda m: {"tokens": all_rows(m, pixels)})),
                    ("decode", (self.inputs, self.run))]

        inputs = {"ids": tokens, "position": torch.zeros(1, dtype=torch.int32), "image_mask": mask}

        if ahead:
            inputs["image_ahead"] = torch.zeros_like(mask)
            prompt = tokens.shape[1] - 3
            for first, end in [(0, prompt)] if ahead == "prompt" else [(first, first + count) for first in at]:
                inputs["image_ahead"][0, first:end] = torch.arange(end - first).flip(0)

        def run(self, m):
            self.inputs["image_rows"] = rows(m)
            of_prompt = torch.arange(tokens.shape[1])[None] < tokens.shape[1] - 3
            types = {"token_type_ids": mask if ahead == "image" else (~of_prompt).long()} if ahead else {}
            return {"logits": m(input_ids=tokens, pixel_values=pixels[None] if tiled else pixels, **types).logits}

    if save(name, model, Graphs()):
        (processor or tower(sees)).save_pretrained(here / name)


def llava(name, text, sees, **more):
    config = T.LlavaConfig(vision_config=sees, text_config=text, image_token_index=IMAGE, **more)
    config._attn_implementation = config.text_config._attn_implementation = "eager"

    def rows(m, pixels):
        out = m.model.get_image_features(pixel_values=pixels, vision_feature_select_strategy="full", return_dict=True)
        return torch.stack(list(out.pooler_output))

    seeing(name, T.LlavaForConditionalGeneration(config), rows, config.vision_feature_select_strategy == "default")


def llavas():
    llava("llava", T.LlamaConfig(**llama_like()), vision())
    llava("llava_full", T.Qwen2Config(**llama_like(tie_word_embeddings=True)), vision(T.SiglipVisionConfig),
          vision_feature_select_strategy="full", vision_feature_layer=-1, projector_hidden_act="relu",
          multimodal_projector_bias=False)
    llava("llava_layers", T.MistralConfig(**llama_like(sliding_window=7)),
          vision(hidden_act="gelu", layer_norm_eps=1e-3, image_size=17, patch_size=5), vision_feature_layer=[-2, 1, 0])


def gemma3(name, tokens, merge, sees, **more):
    text = llama_like(head_dim=8, query_pre_attn_scalar=12, layer_types=["sliding_attention", "full_attention"],
                      sliding_window=7)
    config = T.Gemma3Config(vision_config=sees, text_config=T.Gemma3TextConfig(**text | more), mm_tokens_per_image=tokens,
                            image_token_index=IMAGE, boi_token_index=IMAGE + 1, eoi_token_index=IMAGE + 2,
                            tie_word_embeddings=False)
    config._attn_implementation = config.text_config._attn_implementation = "eager"
    side = sees.image_size
    seeing(name, T.Gemma3ForConditionalGeneration(config),
           lambda m, pixels: m.model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output, 0,
           T.Gemma3ImageProcessor(size={"height": side, "width": side}), merge, ahead="image")


def gemmas():
    gemma3("gemma3_sees", 9, 2, vision(T.SiglipVisionConfig, image_size=24, vision_use_head=False))
    gemma3("gemma3_sees_all", 16, 1, vision(T.SiglipVisionConfig, image_size=17, layer_norm_eps=1e-3), sliding_window=40)


def paligemma(name, text, sees, **more):
    config = T.PaliGemmaConfig(vision_config=sees, text_config=text, image_token_index=IMAGE, vocab_size=vocabulary,
                               hidden_size=text.hidden_size, projection_dim=text.hidden_size, **more)
    config._attn_implementation = config.text_config._attn_implementation = "eager"
    seeing(name, T.PaliGemmaForConditionalGeneration(config),
           lambda m, pixels: m.model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output, 0,
           ahead="prompt")


def paligemmas():
    sizes = llama_like(head_dim=8)
    paligemma("paligemma_sees", T.GemmaConfig(**sizes | dict(num_key_value_heads=1)),
              vision(T.SiglipVisionConfig, vision_use_head=False))
    torch.manual_seed(26)
    paligemma("paligemma2_sees", T.Gemma2Config(**sizes, query_pre_attn_scalar=12, attn_logit_softcapping=5.0,
                                                final_logit_softcapping=9.0, sliding_window=50),
              vision(T.SiglipVisionConfig, image_size=17, layer_norm_eps=1e-3, hidden_act="gelu"), tie_word_embeddings=False)


def idefics3(name, kind, sees, factor, longest, **more):
    """A model of `kind`: "Idefics3" or "SmolVLM". The longer side of an image gets `longest` pixels before it is cut into
    tiles."""
    config = getattr(T, kind + "Config")(vision_config=sees, text_config=T.LlamaConfig(**llama_like(
        max_position_embeddings=256, **more)), scale_factor=factor, image_token_id=IMAGE)
    config._attn_implementation = config.text_config._attn_implementation = "eager"
    model = getattr(T, kind + "ForConditionalGeneration")(config)

    def rows(m, pixels):
        return torch.stack(list(m.model.get_image_features(pixels[:, None], return_dict=True).pooler_output))

    side = sees["image_size"]
    seeing(name, model, rows, 0, getattr(T, kind + "ImageProcessorPil")(
        size={"longest_edge": longest}, max_image_size={"longest_edge": side}), factor, tiled=True)


def tiled():
    sizes = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=4, intermediate_size=52, patch_size=3)
    idefics3("idefics3_sees", "Idefics3", sizes | dict(image_size=12), 2, 36)
    idefics3("smolvlm_sees", "SmolVLM", sizes | dict(image_size=10, hidden_act="gelu", layer_norm_eps=1e-3), 3, 31,
             tie_word_embeddings=True)


def internvl(name, text, sees, side, most, **more):
    """An image is seen in a grid of up to `most` tiles of `side` pixels."""
    config = T.InternVLConfig(vision_config=sees, text_config=text, image_token_id=IMAGE, **more)
    for part in (config, config.text_config, config.vision_config):
        part._attn_implementation = "eager"
    seeing(name, T.InternVLForConditionalGeneration(config),
           lambda m, pixels: m.model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output, 0,
           T.GotOcr2ImageProcessorPil(size={"height": side, "width": side}, max_patches=most),
           round(1 / config.downsample_ratio))


def internvls():
    sizes = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=4, intermediate_size=52)
    texts = llama_like(max_position_embeddings=256)
    internvl("internvl_sees", T.Qwen2Config(**texts), sizes | dict(image_size=[12, 12], patch_size=[3, 3]), 12, 6,
             tie_word_embeddings=False)
    internvl("internvl_sees_all", T.LlamaConfig(**texts), sizes | dict(
        image_size=17, patch_size=4, use_qk_norm=True, attention_bias=True, norm_type="rms_norm", hidden_act="relu",
        use_mean_pooling=False, use_mask_token=True, layer_norm_eps=1e-3), 17, 1, downsample_ratio=0.25,
        projector_hidden_act="relu")
    internvl("internvl_sees_early", T.Qwen2Config(**texts), sizes | dict(
        image_size=8, patch_size=3, use_absolute_position_embeddings=False, use_mean_pooling=False), 8, 4,
        downsample_ratio=1.0, vision_feature_layer=-2)


if __name__ == "__main__":
    torch.manual_seed(9)
    llavas()
    gemmas()
    tiled()
    torch.manual_seed(16)
    paligemmas()
    torch.manual_seed(18)
    internvls()
