"""DINOv3, plain and in the shape of popular files: see models.py and popular.py."""

import transformers as T

from models import Base, plain

SIZES = dict(hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3, patch_size=4, image_size=12,
             num_register_tokens=2)


def published(name):
    return name.replace("model.layer.", "layer.")


def plain_models():
    base = plain(T.DINOv3ViTModel, T.DINOv3ViTConfig, **SIZES, hidden_act="gelu", layer_norm_eps=1e-5, query_bias=True,
                 key_bias=False, value_bias=True, proj_bias=True, mlp_bias=True, use_gated_mlp=False, rope_theta=100.0)
    yield Base(base.name, base.config, published)


def popular_models():
    small = SIZES | dict(
        architectures=["DINOv3ViTModel"], attention_dropout=0.0, drop_path_rate=0.0, hidden_act="gelu",
        initializer_range=0.02, key_bias=False, layer_norm_eps=1e-5, layerscale_value=1.0, mlp_bias=True,
        model_type="dinov3_vit", num_channels=3, pos_embed_jitter=None, pos_embed_rescale=2.0, pos_embed_shift=None,
        proj_bias=True, query_bias=True, rope_theta=100.0, torch_dtype="float32", transformers_version="4.56.0.dev0",
        use_gated_mlp=False, value_bias=True)
    yield Base("dinov3-vits16-pretrain-lvd1689m", small, published)
    yield Base("dinov3-vith16plus-pretrain-lvd1689m", small | dict(hidden_act="silu", use_gated_mlp=True), published)
