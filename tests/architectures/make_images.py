"""The same as make.py for models that take images.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers safetensors
    venv/bin/python tests/architectures/make_images.py vit clip
"""

import torch
import transformers as T

from tiny import here, ids, save

def patches_of(pixels, side):
    """(B, C, H, W) as (B, patches, C * side * side), patches from the top left."""
    b, c, h, w = pixels.shape
    h, w = h // side * side, w // side * side
    pixels = pixels[:, :, :h, :w]
    return (pixels.reshape(b, c, h // side, side, w // side, side).permute(0, 2, 4, 1, 3, 5)
            .reshape(b, h // side * (w // side), c * side * side))


def random_pixels(height, width):
    return torch.randn(2, 3, height, width, dtype=torch.float32).to(torch.float64)


def vit_like(**more):
    return dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44, image_size=[12, 20],
                patch_size=4) | more


def classifier(name, model, outputs, height=12, width=20, side=4, dtype=torch.float16):
    pixels = random_pixels(height, width)
    return save(name, model, {"encode_image": ({"patches": patches_of(pixels, side)},
                                               lambda m: outputs(m(pixel_values=pixels)))}, dtype)


def vits():
    logits = lambda r: {"logits": r.logits}
    pooled = lambda r: {"hidden": r.last_hidden_state, "embedding": r.pooler_output}
    first = lambda r: {"hidden": r.last_hidden_state, "embedding": r.last_hidden_state[:, 0]}
    classifier("vit", T.ViTForImageClassification(T.ViTConfig(**vit_like(num_labels=5))), logits)
    classifier("vit_pooled", T.ViTModel(T.ViTConfig(**vit_like(
        hidden_act="gelu_new", pooler_act="relu", pooler_output_size=28))), pooled, dtype=torch.bfloat16)
    classifier("vit_unbiased", T.ViTModel(T.ViTConfig(**vit_like(qkv_bias=False, image_size=15, patch_size=5)),
                                          add_pooling_layer=False), first, 15, 15, 5)
    classifier("deit", T.DeiTForImageClassification(T.DeiTConfig(**vit_like(num_labels=3))), logits)
    classifier("deit_taught", T.DeiTForImageClassificationWithTeacher(T.DeiTConfig(**vit_like(num_labels=3))), logits)
    classifier("deit_pooled", T.DeiTModel(T.DeiTConfig(**vit_like())), pooled)


def dinov2(name, model_class, outputs, image, width, **more):
    """Trained with square images, and given those of 12 x `width`."""
    config = T.Dinov2Config(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=2, image_size=image,
                            patch_size=4, **more)
    if classifier(name, model_class(config), outputs, 12, width) and (image, width) != (12, 12):
        T.BitImageProcessor(size={"shortest_edge": 14}, crop_size={"height": 12, "width": width}).save_pretrained(
            here / name)


def dinov2s():
    hidden = lambda r: {"hidden": r.last_hidden_state, "embedding": r.pooler_output}
    dinov2("dinov2", T.Dinov2Model, hidden, 12, 20)
    dinov2("dinov2_gated", T.Dinov2Model, hidden, 12, 12, use_swiglu_ffn=True, qkv_bias=False)
    dinov2("dinov2_classes", T.Dinov2ForImageClassification, lambda r: {"logits": r.logits}, 28, 12, num_labels=5,
           hidden_act="relu", layer_norm_eps=1e-3)


def dinov3(name, dtype=torch.float16, **more):
    """Given images of 12 x 20, whatever the configuration's size is."""
    config = T.DINOv3ViTConfig(**dict(hidden_size=36, intermediate_size=44, num_hidden_layers=2, num_attention_heads=3,
                                      image_size=16, patch_size=4) | more)
    hidden = lambda r: {"hidden": r.last_hidden_state, "embedding": r.pooler_output}
    if classifier(name, T.DINOv3ViTModel(config), hidden, dtype=dtype):
        T.DINOv3ViTImageProcessor(size={"height": 12, "width": 20}).save_pretrained(here / name)


def dinov3s():
    dinov3("dinov3", num_register_tokens=3)
    dinov3("dinov3_gated", hidden_size=40, num_attention_heads=2, use_gated_mlp=True, hidden_act="silu", key_bias=True,
           rope_theta=25.0, layer_norm_eps=1e-3, dtype=torch.bfloat16)
    dinov3("dinov3_unbiased", num_register_tokens=1, query_bias=False, value_bias=False, proj_bias=False, mlp_bias=False,
           hidden_act="gelu_new")


def clip(name, texts=(), images=()):
    """Texts end with the token 52, as their tokenizer's do."""
    sizes = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44)
    config = T.CLIPConfig(
        text_config=sizes | dict(vocab_size=53, max_position_embeddings=16, bos_token_id=1, eos_token_id=52,
                                 pad_token_id=0) | dict(texts),
        vision_config=sizes | dict(hidden_size=40, num_attention_heads=4, intermediate_size=52, num_hidden_layers=1,
                                   image_size=12, patch_size=4) | dict(images),
        projection_dim=28)
    side = config.vision_config.patch_size
    tokens, lengths = ids(3, 11) % 52, torch.tensor([11, 4, 7])
    for row, length in zip(tokens, lengths):
        row[length - 1], row[length:] = 52, 0
    mask = torch.arange(11)[None] < lengths[:, None]
    pixels = random_pixels(config.vision_config.image_size, config.vision_config.image_size)
    run = lambda m: m(input_ids=tokens, attention_mask=mask.to(torch.int64), pixel_values=pixels)
    save(name, T.CLIPModel(config), {
        "encode": ({"ids": tokens, "lengths": lengths}, lambda m: {"embedding": run(m).text_embeds}),
        "encode_image": ({"patches": patches_of(pixels, side)}, lambda m: {"embedding": run(m).image_embeds})})


def siglip(name, texts=(), images=(), masked=False):
    """Texts of 11 tokens, of which the last ones only fill. `masked`: these do not count."""
    sizes = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44)
    config = T.SiglipConfig(
        text_config=sizes | dict(vocab_size=53, max_position_embeddings=64, bos_token_id=1, eos_token_id=52,
                                 pad_token_id=0, projection_size=40) | dict(texts),
        vision_config=sizes | dict(hidden_size=40, num_attention_heads=4, intermediate_size=52, num_hidden_layers=1,
                                   image_size=12, patch_size=4) | dict(images))
    tokens, lengths = ids(3, 11), torch.tensor([11, 4, 7] if masked else [11, 11, 11])
    for row, length in zip(tokens, [11, 4, 7]):
        row[length:] = 0
    mask = (torch.arange(11)[None] < lengths[:, None]).to(torch.int64)
    vision = config.vision_config
    pixels = random_pixels(vision.image_size, vision.image_size)
    run = lambda m: m(input_ids=tokens, attention_mask=mask if masked else None, pixel_values=pixels)
    save(name, T.SiglipModel(config), {
        "encode": ({"ids": tokens, "lengths": lengths}, lambda m: {"embedding": run(m).text_embeds}),
        "encode_image": ({"patches": patches_of(pixels, vision.patch_size)}, lambda m: {
            "hidden": run(m).vision_model_output.last_hidden_state, "embedding": run(m).image_embeds})})


def siglips():
    siglip("siglip")
    siglip("siglip_masked", dict(hidden_act="gelu", layer_norm_eps=1e-3, hidden_size=40, num_attention_heads=5,
                                 projection_size=None),
           dict(hidden_act="relu", layer_norm_eps=1e-2, image_size=17, patch_size=3), masked=True)
    config = T.SiglipConfig(vision_config=dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
                                               intermediate_size=44, image_size=12, patch_size=4), num_labels=5)
    classifier("siglip_classes", T.SiglipForImageClassification(config), lambda r: {"logits": r.logits}, 12, 12)


if __name__ == "__main__":
    torch.manual_seed(8)
    vits()
    dinov2s()
    clip("clip")
    clip("clip_gelu", dict(hidden_act="gelu", layer_norm_eps=1e-3),
         dict(hidden_act="relu", layer_norm_eps=1e-2, image_size=15, patch_size=3))
    siglips()
    dinov3s()
