"""The models whose files are changed: for each model type a plain one, and tiny ones in the shape of popular models.

A plain model is what transformers writes. The others have the config.json of a popular model with smaller sizes, and the
names of the tensors in its files. No weights are stored: every value follows from the name of its tensor.
"""

import copy
import functools
import math

import numpy as np
import torch
import transformers

VOCABULARY, POSITIONS = 30, 32
T = transformers


class Base:
    """`rename` maps the names of transformers to those of the file. `extra`: {name: shape} of further tensors, or
    {name: ("like", other)} of copies."""

    def __init__(self, name, config, rename=None, extra=None):
        self.name, self.config = name, config
        self.family = config["model_type"]
        self.rename, self.extra = rename or (lambda name: name), extra or {}

    def oracle(self):
        import oracle
        return oracle.Oracle(self)

    def changes(self):
        import changes
        return changes.all_of(self) if self.name == self.family else changes.few_of(self)

    @functools.cached_property
    def model_class(self):
        return getattr(transformers, self.config["architectures"][0])

    @functools.cached_property
    def shapes(self):
        """Of all tensors of the model."""
        with torch.device("meta"):
            model = self.model_class(self.model_class.config_class.from_dict(copy.deepcopy(self.config)))
        self.tied = set(getattr(model, "all_tied_weights_keys", {}))
        return {name: list(value.shape) for name, value in model.state_dict().items()}

    @functools.cached_property
    def optional(self):
        """{name: shape} of tensors that files need not have: those tied to others, and Marian's sinusoids."""
        return {name: shape for name, shape in self.shapes.items()
                if name in self.tied or self.family == "marian" and "embed_positions" in name}

    @functools.cached_property
    def tensors(self):
        """{name: [shape, dtype, center, spread]} and, if a tensor has the values of another, that one's name."""
        shapes = {self.rename(name): shape for name, shape in self.shapes.items() if name not in self.optional}
        out = {name: kind_of(name, shape) for name, shape in shapes.items()}
        for name, extra in self.extra.items():
            out[name] = out[extra[1]] + [extra[1]] if extra and extra[0] == "like" else kind_of(name, extra)
        return out


class Seeing(Base):
    """A model that sees and talks, with what it takes to see."""

    preprocessors = {
        "gemma3": {"image_processor_type": "Gemma3ImageProcessor", "size": {"height": 16, "width": 16}},
        "gemma4": {"image_processor_type": "Gemma4ImageProcessor", "patch_size": 4, "pooling_kernel_size": 2},
        "llava": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 8},
                  "crop_size": {"height": 8, "width": 8}},
        "internvl": {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 8, "width": 8}},
        "mistral3": {"image_processor_type": "PixtralImageProcessor", "size": {"longest_edge": 40}},
        "paligemma": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 8, "width": 8}}}
    preprocessors |= dict.fromkeys(("qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe"), {
        "image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4, "min_pixels": 64, "max_pixels": 1600})

    for kind, name in (("idefics3", "Idefics3"), ("smolvlm", "SmolVLM")):
        preprocessors[kind] = {"image_processor_type": name + "ImageProcessor", "size": {"longest_edge": 24},
                               "max_image_size": {"longest_edge": 8}}

    @property
    def header(self):
        processor = {"processor": {"patch_size": 4, "spatial_merge_size": 2}} if self.family == "mistral3" else {}
        return {"preprocessor": self.preprocessors[self.family]} | processor


def kind_of(name, shape):
    """Embeddings are so small that the first norm shows its epsilon."""
    if name.endswith("position_ids"):
        return [shape, "I64", 0, 1]
    if ("norm" in name.lower() or ".ln_" in name or name.startswith("ln_f")) and name.endswith(("weight", "gamma")):
        return [shape, "F32", 1, 0.5]
    if name.endswith(("_min", "_max")):  # limits of values
        return [shape, "F32", -1 if name.endswith("_min") else 1, 0.5]
    words = ("embed_tokens", "_embeddings.weight", "wte.", "wpe.", "embed_positions", "shared.weight")
    return [shape, "F32", 0, 0.02 if any(word in name for word in words) else 0.4]


# ---- Numbers that Python and C++ compute alike ----

def uniform(name, count):
    """FNV-1a of the name, then splitmix64: numbers in [-1, 1) with 24 bits."""
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001b3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1


def tensor(name, kind):
    shape, dtype, center, spread, *like = kind
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "I64":
        return torch.arange(count).reshape(shape)
    return torch.tensor((center + spread * uniform(like[0] if like else name, count)).astype(np.float32)).reshape(shape)


def ids(name, batch, length):
    """Ids of 10 and above, so that none is a special token, whatever a change makes of those."""
    numbers = (uniform(name, batch * length) + 1) / 2 * (VOCABULARY - 10)
    return torch.tensor(10 + numbers.astype(np.int64)).reshape(batch, length)


def patches(batch, count, side, merge=1):
    """What Lamina takes of images, and the same as transformers takes it: square images of (3, height, width). Patches come
    in squares of `merge` a side."""
    rows, pixels = math.isqrt(count), torch.tensor(uniform("patches", batch * count * 3 * side * side).astype(np.float32))
    squares = rows // merge
    pixels = pixels.reshape(batch, squares, squares, merge, merge, 3, side, side)
    return pixels.permute(0, 5, 1, 3, 6, 2, 4, 7).reshape(batch, 3, rows * side, rows * side)


def pixels_of_any_size(rows, columns, side, merge):
    """The same for one image, as Pixtral takes it."""
    pixels = torch.tensor(uniform("patches", rows * columns * 3 * side * side).astype(np.float32))
    pixels = pixels.reshape(rows // merge, columns // merge, merge, merge, 3, side, side)
    return pixels.permute(4, 0, 2, 5, 1, 3, 6).reshape(1, 3, rows * side, columns * side)


def patches_of_any_size(count, side, frames):
    """The same for one image, as Qwen2-VL takes it: each patch with all of its frames, which are the same."""
    pixels = torch.tensor(uniform("patches", count * 3 * side * side).astype(np.float32))
    return pixels.reshape(count, 3, 1, side * side).expand(-1, -1, frames, -1).reshape(count, -1)


def patches_of_gemma4(rows, columns, side):
    """The same for one image, as Gemma 4 takes it: colours after pixels, from 0 to 1; and columns and rows."""
    pixels = patches_of_any_size(rows * columns, side, 1).reshape(rows * columns, 3, side * side)
    square, within = torch.arange(rows * columns) // 4, torch.arange(rows * columns) % 4
    places = [square % (columns // 2) * 2 + within % 2, square // (columns // 2) * 2 + within // 2]
    return (pixels.transpose(1, 2).reshape(1, rows * columns, -1) + 1) / 2, torch.stack(places, -1)[None]


# ---- Plain models ----

def plain(model_class, config, **sizes):
    """What save_pretrained() writes, with these settings."""
    out = config(**sizes).to_diff_dict() | sizes  # every setting that this model states
    out |= {"architectures": [model_class.__name__], "model_type": config.model_type}
    fused = config.model_type.startswith(("gpt_oss", "qwen3_5_moe"))  # files have experts as transformers keeps them
    kind = Mixture if {"num_experts_per_tok", "moe_k"} & set(sizes) and not fused else Base
    if config.model_type in Seeing.preprocessors:
        kind = Seeing
    rename = {"vit": published_vit, "deit": published_vit, "dinov2": published_dinov2,
              "vision-encoder-decoder": published_encoder}.get(config.model_type)
    return kind(config.model_type, {k: out[k] for k in sorted(out) if k != "transformers_version"}, rename)


def published_dinov2(name):
    """Of attention, as of ViT."""
    for new, old in {"attention.q_proj.": "attention.attention.query.", "attention.k_proj.": "attention.attention.key.",
                     "attention.v_proj.": "attention.attention.value.",
                     "attention.o_proj.": "attention.output.dense."}.items():
        name = name.replace(new, old)
    return name


def published_vit(name):
    """transformers renames the modules of older files."""
    for new, old in {".layers.": ".encoder.layer.", ".q_proj.": ".attention.query.", ".k_proj.": ".attention.key.",
                     ".v_proj.": ".attention.value.", ".o_proj.": ".output.dense.", ".mlp.fc1.": ".intermediate.dense.",
                     ".mlp.fc2.": ".output.dense."}.items():
        name = name.replace(new, old)
    return name


def published_encoder(name):
    """Of a part that sees, as ViT."""
    return published_vit(name) if name.startswith("encoder.") else name


class Mixture(Base):
    """With experts, whose matrices transformers keeps together and files have apart, or under other names."""

    @functools.cached_property
    def shapes(self):
        out = {}
        for name, shape in Base.shapes.func(self).items():
            granite = self.family.startswith("granitemoe")
            if not name.endswith((".experts.gate_up_proj", ".experts.up_proj", ".experts.down_proj")):
                out[name.replace("block_sparse_moe.router.", "block_sparse_moe.router.layer.")
                    if granite else self.published(name)] = shape
            elif granite:
                ours = "input_linear" if name.endswith("gate_up_proj") else "output_linear"
                out[name.rpartition(".experts.")[0] + f".{ours}.weight"] = shape
            else:
                mixtral = self.family == "mixtral"
                parts = (("w1", "w3") if mixtral else ("gate_proj", "up_proj")) if name.endswith("gate_up_proj") else (
                    ("w2",) if mixtral else (name.rpartition(".")[2],))
                for e in range(shape[0]):
                    for part in parts:
                        out[f"{self.published(name.rpartition('.')[0])}.{e}.{part}.weight"] = [
                            shape[1] // len(parts), shape[2]]
        return out

    def published(self, name):
        if self.family == "nemotron_h":
            return name.replace("model.", "backbone.", 1)
        if self.family == "ernie4_5_moe":
            return name.replace(".mlp.gate.moe_statics.", ".mlp.moe_statics.")
        return name.replace(".mlp.", ".block_sparse_moe.") if self.family == "mixtral" else name


ENCODER = dict(vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20,
               max_position_embeddings=POSITIONS)
DECODER = ENCODER | dict(num_key_value_heads=2)
HALF = dict(vocab_size=VOCABULARY, d_model=24, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
            decoder_attention_heads=6, encoder_ffn_dim=20, decoder_ffn_dim=28)


def plain_models():
    rope = {"rope_type": "default", "rope_theta": 500.0}
    yield plain(T.BertModel, T.BertConfig, **ENCODER, hidden_act="gelu", layer_norm_eps=1e-5, type_vocab_size=2)
    roberta = ENCODER | dict(hidden_act="gelu", layer_norm_eps=1e-6, type_vocab_size=1, pad_token_id=1)
    yield plain(T.RobertaModel, T.RobertaConfig, **roberta)
    yield plain(T.XLMRobertaForMaskedLM, T.XLMRobertaConfig, **roberta, tie_word_embeddings=True)
    yield plain(T.CamembertForMaskedLM, T.CamembertConfig, **roberta, tie_word_embeddings=True)
    yield plain(T.LongformerForMaskedLM, T.LongformerConfig, **roberta | dict(type_vocab_size=2), attention_window=[8, 4],
                sep_token_id=2, tie_word_embeddings=True)
    yield plain(T.ElectraForMaskedLM, T.ElectraConfig, **ENCODER, hidden_act="gelu", layer_norm_eps=1e-5, type_vocab_size=2,
                embedding_size=16, tie_word_embeddings=True)
    yield plain(T.MPNetModel, T.MPNetConfig, **ENCODER, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=1,
                relative_attention_num_buckets=32)
    yield plain(T.AlbertForMaskedLM, T.AlbertConfig, **ENCODER, hidden_act="gelu_new", layer_norm_eps=1e-5,
                type_vocab_size=2, embedding_size=16, num_hidden_groups=1, inner_group_num=1, tie_word_embeddings=True)
    rotated = ENCODER | dict(num_attention_heads=3)
    yield plain(T.ModernBertForMaskedLM, T.ModernBertConfig, **rotated, hidden_activation="gelu", norm_eps=1e-5,
                norm_bias=False, attention_bias=False, mlp_bias=False, decoder_bias=True, classifier_bias=False,
                classifier_activation="gelu", local_attention=6, layer_types=["full_attention", "sliding_attention"],
                pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2,
                rope_parameters={"full_attention": rope, "sliding_attention": rope | {"rope_theta": 70.0}})
    yield plain(T.NomicBertForMaskedLM, T.NomicBertConfig, **rotated, hidden_act="silu", layer_norm_eps=1e-5,
                type_vocab_size=2, head_dim=8, rope_parameters=rope)
    yield plain(T.GteModel, T.GteConfig, **rotated, hidden_act="gelu", layer_norm_eps=1e-5, type_vocab_size=1,
                rope_parameters=rope)
    yield plain(T.DistilBertForMaskedLM, T.DistilBertConfig, vocab_size=VOCABULARY, dim=24, n_layers=2, n_heads=4,
                hidden_dim=20, max_position_embeddings=POSITIONS, activation="gelu", tie_word_embeddings=True)
    yield plain(T.GPT2LMHeadModel, T.GPT2Config, vocab_size=VOCABULARY, n_embd=24, n_layer=2, n_head=4,
                n_positions=POSITIONS, n_inner=20, layer_norm_epsilon=1e-4, activation_function="gelu_new",
                scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, tie_word_embeddings=True)
    yield plain(T.OPTForCausalLM, T.OPTConfig, vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2,
                num_attention_heads=4, ffn_dim=20, max_position_embeddings=POSITIONS, word_embed_proj_dim=24,
                do_layer_norm_before=True, enable_bias=True, activation_function="relu")
    decoder = DECODER | dict(hidden_act="silu", rms_norm_eps=1e-5, rope_parameters=rope, tie_word_embeddings=False)
    yield plain(T.LlamaForCausalLM, T.LlamaConfig, **decoder, head_dim=8, attention_bias=False, mlp_bias=False)
    yield plain(T.MistralForCausalLM, T.MistralConfig, **decoder, head_dim=8, sliding_window=5)
    yield plain(T.Qwen2ForCausalLM, T.Qwen2Config, **decoder, use_sliding_window=True, sliding_window=5,
                max_window_layers=1)
    yield plain(T.Qwen3ForCausalLM, T.Qwen3Config, **decoder, head_dim=8, attention_bias=False, use_sliding_window=True,
                sliding_window=5, max_window_layers=1)
    gemma = DECODER | dict(head_dim=8, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-5, sliding_window=5,
                           query_pre_attn_scalar=20, attention_bias=False, tie_word_embeddings=True)
    yield plain(T.Gemma2ForCausalLM, T.Gemma2Config, **gemma, rope_parameters=rope, attn_logit_softcapping=5.0,
                final_logit_softcapping=0.5)
    yield plain(T.Gemma3ForCausalLM, T.Gemma3TextConfig, **gemma,
                rope_parameters={"sliding_attention": rope, "full_attention": rope | {"rope_theta": 7000.0}},
                layer_types=["sliding_attention", "full_attention"])
    yield from seeing_decoders(decoder, gemma, rope)
    yield from more_decoders(decoder, rope)
    yield plain(T.T5ForConditionalGeneration, T.T5Config, vocab_size=VOCABULARY, d_model=24, d_kv=10, d_ff=20,
                num_layers=2, num_decoder_layers=1, num_heads=3, relative_attention_num_buckets=8,
                relative_attention_max_distance=6, layer_norm_epsilon=1e-5, feed_forward_proj="gated-gelu",
                decoder_start_token_id=0, tie_word_embeddings=True)
    yield plain(T.MT5ForConditionalGeneration, T.MT5Config, vocab_size=VOCABULARY, d_model=24, d_kv=10, d_ff=20,
                num_layers=2, num_decoder_layers=1, num_heads=3, relative_attention_num_buckets=8,
                relative_attention_max_distance=6, layer_norm_epsilon=1e-5, feed_forward_proj="gated-gelu",
                decoder_start_token_id=0)
    yield plain(T.MarianMTModel, T.MarianConfig, **HALF, max_position_embeddings=POSITIONS, scale_embedding=True,
                activation_function="swish", pad_token_id=6, decoder_start_token_id=6)
    half = HALF | dict(max_position_embeddings=POSITIONS, scale_embedding=True, activation_function="gelu", pad_token_id=1,
                       bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, tie_word_embeddings=True)
    yield plain(T.BartForConditionalGeneration, T.BartConfig, **half)
    yield plain(T.MBartForConditionalGeneration, T.MBartConfig, **half)
    yield plain(T.M2M100ForConditionalGeneration, T.M2M100Config, **half)
    yield plain(T.PegasusForConditionalGeneration, T.PegasusConfig, **half)
    yield plain(T.WhisperForConditionalGeneration, T.WhisperConfig, **HALF, num_mel_bins=4, max_source_positions=11,
                max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
                activation_function="gelu")
    speech = dict(vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
                  conv_dim=[10, 12], conv_kernel=[4, 3], conv_stride=[2, 3], num_conv_pos_embeddings=6,
                  num_conv_pos_embedding_groups=4, hidden_act="gelu", layer_norm_eps=1e-5, feat_extract_activation="gelu",
                  feat_extract_norm="group", conv_bias=False, do_stable_layer_norm=False)
    yield plain(T.Wav2Vec2ForCTC, T.Wav2Vec2Config, **speech)
    yield plain(T.HubertForCTC, T.HubertConfig, **speech, feat_proj_layer_norm=True)
    yield plain(T.WavLMForCTC, T.WavLMConfig, **speech, num_buckets=12, max_bucket_distance=9)
    vit = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, image_size=8, patch_size=4,
               hidden_act="gelu", layer_norm_eps=1e-5, qkv_bias=True)
    yield plain(T.ViTForImageClassification, T.ViTConfig, **vit)
    yield plain(T.DeiTForImageClassificationWithTeacher, T.DeiTConfig, **vit)
    yield plain(T.Dinov2Model, T.Dinov2Config, **{k: v for k, v in vit.items() if k != "intermediate_size"}, mlp_ratio=2,
                use_swiglu_ffn=False)
    writer = dict(model_type="trocr", vocab_size=VOCABULARY, d_model=20, decoder_layers=2, decoder_attention_heads=5,
                  decoder_ffn_dim=28, max_position_embeddings=POSITIONS, activation_function="gelu", scale_embedding=True,
                  use_learned_position_embeddings=True, layernorm_embedding=True, tie_word_embeddings=True, pad_token_id=1,
                  bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, cross_attention_hidden_size=24)
    yield plain(T.VisionEncoderDecoderModel, T.VisionEncoderDecoderConfig, encoder=vit | dict(model_type="vit"),
                decoder=writer)
    images = {k: v for k, v in vit.items() if k != "qkv_bias"}
    texts = ENCODER | dict(hidden_size=20, num_attention_heads=5, hidden_act="gelu", layer_norm_eps=1e-5, bos_token_id=5,
                           eos_token_id=3, sep_token_id=2, pad_token_id=1, is_decoder=True, tie_word_embeddings=True)
    yield plain(T.BlipForConditionalGeneration, T.BlipConfig, vision_config=images | dict(model_type="blip_vision_model"),
                text_config=texts | dict(model_type="blip_text_model"), tie_word_embeddings=True)
    half = ENCODER | dict(layer_norm_eps=1e-5, hidden_act="quick_gelu")
    images = {k: v for k, v in half.items() if k not in ("vocab_size", "max_position_embeddings")}
    yield plain(T.CLIPModel, T.CLIPConfig, projection_dim=16, logit_scale_init_value=2.5,
                text_config=half | dict(bos_token_id=1, eos_token_id=29, pad_token_id=0),
                vision_config=images | dict(hidden_size=32, image_size=8, patch_size=4))
    half |= dict(layer_norm_eps=1e-6, hidden_act="gelu_pytorch_tanh")
    images |= dict(layer_norm_eps=1e-6, hidden_act="gelu_pytorch_tanh", image_size=9, patch_size=4)
    yield plain(T.SiglipModel, T.SiglipConfig, text_config=half | dict(projection_size=24), vision_config=images)
    images |= dict(model_type="clip_vision_model", layer_norm_eps=1e-5, hidden_act="quick_gelu", image_size=8)
    texts = DECODER | dict(
        model_type="llama", hidden_act="silu", rms_norm_eps=1e-5, head_dim=6, tie_word_embeddings=False,
        attention_bias=False, mlp_bias=False, rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    yield plain(T.LlavaForConditionalGeneration, T.LlavaConfig, image_token_index=5, vision_feature_layer=-2,
                vision_feature_select_strategy="default", projector_hidden_act="gelu", multimodal_projector_bias=True,
                tie_word_embeddings=False, vision_config=images, text_config=texts)
    images = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, num_channels=3,
                  image_size=8, patch_size=2, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6)
    for kind, config in ((T.Idefics3ForConditionalGeneration, T.Idefics3Config),
                         (T.SmolVLMForConditionalGeneration, T.SmolVLMConfig)):
        yield plain(kind, config, image_token_id=5, scale_factor=2, tie_word_embeddings=False, vision_config=images,
                    text_config=texts)


def more_decoders(decoder, rope):
    decoder = decoder | dict(pad_token_id=0)
    part = rope | {"partial_rotary_factor": 0.5}
    plain_rope = {k: v for k, v in decoder.items() if k != "rms_norm_eps"}
    yield plain(T.GemmaForCausalLM, T.GemmaConfig, **decoder | dict(hidden_act="gelu_pytorch_tanh", head_dim=8,
                                                                    attention_bias=False, tie_word_embeddings=True))
    yield plain(T.SmolLM3ForCausalLM, T.SmolLM3Config, **decoder, no_rope_layer_interval=2, use_sliding_window=True,
                sliding_window=5, attention_bias=False, mlp_bias=False)
    yield plain(T.Ernie4_5ForCausalLM, T.Ernie4_5Config, **decoder, head_dim=8, use_bias=False)
    yield plain(T.GraniteForCausalLM, T.GraniteConfig, **decoder, attention_bias=False, mlp_bias=False,
                embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3, logits_scaling=2.5)
    moe = decoder | dict(num_experts_per_tok=2)
    yield plain(T.MixtralForCausalLM, T.MixtralConfig, **moe, num_local_experts=4, sliding_window=5, head_dim=8)
    yield plain(T.GraniteMoeForCausalLM, T.GraniteMoeConfig, **moe, num_local_experts=4, attention_bias=False,
                embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3, logits_scaling=2.5)
    yield plain(T.OlmoeForCausalLM, T.OlmoeConfig, **moe, num_experts=4, norm_topk_prob=False, attention_bias=False)
    yield plain(T.Ernie4_5_MoeForCausalLM, T.Ernie4_5_MoeConfig, **decoder, head_dim=8, use_bias=False, moe_num_experts=4,
                moe_k=2, moe_intermediate_size=12, moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_interval=1)
    moe |= dict(num_experts=4, moe_intermediate_size=12, decoder_sparse_step=1, mlp_only_layers=[], norm_topk_prob=True)
    yield plain(T.Qwen2MoeForCausalLM, T.Qwen2MoeConfig, **moe, shared_expert_intermediate_size=16, qkv_bias=True,
                use_sliding_window=True, sliding_window=5, max_window_layers=1)
    yield plain(T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig, **moe, head_dim=8, attention_bias=False,
                use_sliding_window=True, sliding_window=5)
    yield from recurrent_decoders(decoder, moe, part)
    yield from scanning_decoders(decoder, rope)
    yield from gpt_oss(decoder, rope)
    yield from lfm2(decoder, rope)
    yield plain(T.Phi3ForCausalLM, T.Phi3Config, **decoder | dict(num_attention_heads=3, num_key_value_heads=1,
                                                                  rope_parameters=part),
                sliding_window=5, original_max_position_embeddings=POSITIONS)
    yield plain(T.OlmoForCausalLM, T.OlmoConfig, **plain_rope, attention_bias=False, clip_qkv=0.7)
    yield plain(T.Olmo2ForCausalLM, T.Olmo2Config, **decoder, attention_bias=False)
    yield plain(T.Exaone4ForCausalLM, T.Exaone4Config, **decoder, sliding_window=5,
                layer_types=["sliding_attention", "full_attention"])
    glm = decoder | dict(rope_parameters=part, head_dim=8, attention_bias=True)
    yield plain(T.GlmForCausalLM, T.GlmConfig, **glm)
    yield plain(T.Glm4ForCausalLM, T.Glm4Config, **glm)
    cohere = plain_rope | dict(layer_norm_eps=1e-5, logit_scale=0.4, attention_bias=False)
    yield plain(T.CohereForCausalLM, T.CohereConfig, **cohere, use_qk_norm=False)
    yield plain(T.Cohere2ForCausalLM, T.Cohere2Config, **cohere, sliding_window=5,
                layer_types=["sliding_attention", "full_attention"])
    wide = plain_rope | dict(layer_norm_eps=1e-5, rope_parameters=part, num_attention_heads=3, num_key_value_heads=1)
    yield plain(T.StableLmForCausalLM, T.StableLmConfig, **wide, use_qkv_bias=False, qk_layernorm=False,
                use_parallel_residual=False)
    yield plain(T.PhiForCausalLM, T.PhiConfig, **wide | dict(hidden_act="gelu_new"), qk_layernorm=False)
    yield plain(T.Starcoder2ForCausalLM, T.Starcoder2Config, **plain_rope | dict(hidden_act="gelu_pytorch_tanh"),
                norm_epsilon=1e-5, use_bias=True, sliding_window=5)
    yield plain(T.GPTNeoXForCausalLM, T.GPTNeoXConfig, **ENCODER | dict(num_attention_heads=3), hidden_act="gelu",
                layer_norm_eps=1e-5, attention_bias=True, use_parallel_residual=True, tie_word_embeddings=False,
                rope_parameters=part)
    yield plain(T.GPTJForCausalLM, T.GPTJConfig, vocab_size=VOCABULARY, n_embd=24, n_layer=2, n_head=3, n_inner=20,
                n_positions=POSITIONS, rotary_dim=4, layer_norm_epsilon=1e-5, activation_function="gelu_new",
                tie_word_embeddings=False)
    yield plain(T.GPTNeoForCausalLM, T.GPTNeoConfig, vocab_size=VOCABULARY, hidden_size=24, num_layers=2, num_heads=4,
                intermediate_size=20, max_position_embeddings=POSITIONS, layer_norm_epsilon=1e-5, window_size=5,
                attention_types=[[["global", "local"], 1]], activation_function="gelu_new", tie_word_embeddings=True)
    yield plain(T.BloomForCausalLM, T.BloomConfig, vocab_size=VOCABULARY, hidden_size=24, n_layer=2, n_head=3,
                layer_norm_epsilon=1e-5, apply_residual_connection_post_layernorm=False, tie_word_embeddings=True)
    yield plain(T.MptForCausalLM, T.MptConfig, vocab_size=VOCABULARY, d_model=24, n_layers=2, n_heads=3,
                max_seq_len=POSITIONS, layer_norm_epsilon=1e-5, tie_word_embeddings=True,
                attn_config={"attn_type": "multihead_attention", "alibi": True, "softmax_scale": 0.7, "clip_qkv": 0.5})
    yield plain(T.FalconForCausalLM, T.FalconConfig, vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2,
                num_attention_heads=3, num_kv_heads=3, ffn_hidden_size=20, max_position_embeddings=POSITIONS, bias=False,
                layer_norm_epsilon=1e-5, multi_query=True, parallel_attn=True, new_decoder_architecture=False,
                activation="gelu", rope_parameters=rope, tie_word_embeddings=True)


def seeing_decoders(decoder, gemma, rope):
    """Of which most read texts alone."""
    yield plain(T.Gemma3ForConditionalGeneration, T.Gemma3Config, tie_word_embeddings=True, mm_tokens_per_image=4,
                text_config=gemma | dict(layer_types=["sliding_attention", "full_attention"], rope_parameters={
                    "sliding_attention": rope, "full_attention": rope | {"rope_theta": 7000.0}}),
                vision_config=dict(hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2,
                                   image_size=16, patch_size=4))
    yield plain(T.PaliGemmaForConditionalGeneration, T.PaliGemmaConfig, tie_word_embeddings=True, image_token_index=5,
                vocab_size=VOCABULARY, hidden_size=24, projection_dim=24,
                text_config=gemma | dict(model_type="gemma2", rope_parameters=rope, attn_logit_softcapping=5.0,
                                         final_logit_softcapping=0.5),
                vision_config=dict(model_type="siglip_vision_model", hidden_size=16, intermediate_size=20,
                                   num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4,
                                   vision_use_head=False))
    yield plain(T.InternVLForConditionalGeneration, T.InternVLConfig, tie_word_embeddings=True, image_token_id=5,
                downsample_ratio=0.5, vision_feature_layer=-1,
                text_config={k: v for k, v in decoder.items() if k != "tie_word_embeddings"} | dict(
                    model_type="qwen2", use_sliding_window=False),
                vision_config=dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2,
                                   image_size=[8, 8], patch_size=[2, 2], use_qk_norm=True, attention_bias=True,
                                   use_mean_pooling=False, layer_norm_eps=1e-5))
    yield plain(T.Mistral3ForConditionalGeneration, T.Mistral3Config, tie_word_embeddings=False, image_token_index=5,
                projector_hidden_act="gelu", vision_feature_layer=-1, multimodal_projector_bias=False,
                spatial_merge_size=2, text_config={k: v for k, v in decoder.items() if k != "tie_word_embeddings"} | dict(
                    model_type="mistral", head_dim=8, sliding_window=None),
                vision_config=dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2,
                                   image_size=40, patch_size=4, hidden_act="silu",
                                   rope_parameters={"rope_type": "axial", "rope_theta": 500.0}))
    axes = decoder | dict(rope_parameters=rope | {"mrope_section": [1, 1, 1]})
    del axes["tie_word_embeddings"]
    patches = dict(depth=1, patch_size=4, num_heads=2)
    qwen2 = axes | dict(use_sliding_window=True, sliding_window=5, max_window_layers=1)
    yield plain(T.Qwen2VLForConditionalGeneration, T.Qwen2VLConfig, text_config=qwen2, tie_word_embeddings=False,
                vision_config=patches | dict(embed_dim=16, hidden_size=24))
    patches |= dict(hidden_size=16, intermediate_size=20, out_hidden_size=24)
    yield plain(T.Qwen2_5_VLForConditionalGeneration, T.Qwen2_5_VLConfig, text_config=qwen2, tie_word_embeddings=False,
                vision_config=patches | dict(depth=2, window_size=17, fullatt_block_indexes=[1]))
    yield plain(T.Qwen3VLForConditionalGeneration, T.Qwen3VLConfig, tie_word_embeddings=False,
                text_config=axes | dict(head_dim=8, attention_bias=False),
                vision_config=patches | dict(depth=2, num_position_embeddings=16, deepstack_visual_indexes=[1, 0]))
    yield plain(T.Qwen3VLMoeForConditionalGeneration, T.Qwen3VLMoeConfig, tie_word_embeddings=False,
                text_config=axes | dict(head_dim=8, attention_bias=False, num_experts=4, num_experts_per_tok=2,
                                        moe_intermediate_size=8, decoder_sparse_step=1, mlp_only_layers=[0]),
                vision_config=patches | dict(depth=2, num_position_embeddings=16, deepstack_visual_indexes=[1, 0]))


def scanning_decoders(decoder, rope):
    """Most or all of their layers have a state, as in Mamba-2."""
    common = {k: v for k, v in decoder.items() if k in ("vocab_size", "tie_word_embeddings", "pad_token_id")}
    first = common | dict(hidden_size=24, num_hidden_layers=2, expand=2, state_size=6, time_step_rank=3, conv_kernel=4,
                          use_bias=False, use_conv_bias=True, hidden_act="silu", layer_norm_epsilon=1e-5)
    yield plain(T.MambaForCausalLM, T.MambaConfig, **first)
    yield plain(T.FalconMambaForCausalLM, T.FalconMambaConfig, **first, mixer_rms_eps=1e-3)
    yield plain(T.Mamba2ForCausalLM, T.Mamba2Config, **common, hidden_size=24, num_hidden_layers=2, expand=2, num_heads=6,
                head_dim=8, state_size=10, n_groups=2, conv_kernel=4, use_bias=False, use_conv_bias=True, hidden_act="silu",
                layer_norm_epsilon=1e-5, time_step_limit=[0.25, 1.5])
    yield plain(T.GraniteMoeHybridForCausalLM, T.GraniteMoeHybridConfig, **decoder, attention_bias=False,
                embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3, logits_scaling=2.5,
                num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=16,
                layer_types=["linear_attention", "full_attention"], position_embedding_type="rope", mamba_n_heads=6,
                mamba_n_groups=2, mamba_d_state=10, mamba_d_head=8, mamba_d_conv=4, mamba_expand=2, mamba_conv_bias=True,
                mamba_proj_bias=False, time_step_limit=[0.25, 1.5])
    yield plain(T.FalconH1ForCausalLM, T.FalconH1Config, **decoder, attention_bias=False, mlp_bias=False,
                projectors_bias=False, mamba_proj_bias=False, mamba_conv_bias=True, mamba_rms_norm=True,
                mamba_norm_before_gate=True, mamba_d_ssm=48, mamba_n_heads=6, mamba_d_head=8, mamba_n_groups=2,
                mamba_d_state=10, mamba_d_conv=4, time_step_limit=[0.25, 1.5], embedding_multiplier=3.0,
                lm_head_multiplier=0.4, attention_in_multiplier=0.8, attention_out_multiplier=1.3, key_multiplier=0.6,
                ssm_in_multiplier=1.25, ssm_out_multiplier=0.7, mlp_multipliers=[0.9, 0.6],
                ssm_multipliers=[0.9, 0.75, 1.35, 0.5, 1.2])
    attention = {k: v for k, v in decoder.items() if k in ("hidden_size", "num_attention_heads", "num_key_value_heads",
                                                           "intermediate_size")}
    yield plain(T.NemotronHForCausalLM, T.NemotronHConfig, **common, **attention, head_dim=8, mamba_num_heads=6,
                mamba_head_dim=8, ssm_state_size=10, n_groups=2, conv_kernel=4, use_bias=False, use_conv_bias=True,
                mlp_bias=False, mlp_hidden_act="relu2", mamba_hidden_act="silu", layer_norm_epsilon=1e-5,
                time_step_min=0.5, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=12, moe_latent_size=16,
                moe_shared_expert_intermediate_size=20, n_group=4, topk_group=2, norm_topk_prob=True,
                routed_scaling_factor=2.5, layers_block_type=["linear_attention", "moe", "full_attention", "mlp"])


def lfm2(decoder, rope):
    left_out = ("hidden_act", "rms_norm_eps")
    yield plain(T.Lfm2ForCausalLM, T.Lfm2Config, **{k: v for k, v in decoder.items() if k not in left_out}, norm_eps=1e-5,
                conv_bias=False, conv_L_cache=3, block_multiple_of=4, block_ffn_dim_multiplier=1.0,
                block_auto_adjust_ff_dim=True, layer_types=["conv", "full_attention"])


def gpt_oss(decoder, rope):
    yield plain(T.GptOssForCausalLM, T.GptOssConfig, **{k: v for k, v in decoder.items() if k != "hidden_act"}, head_dim=8,
                num_local_experts=4, num_experts_per_tok=2, sliding_window=5, attention_bias=True, swiglu_alpha=1.5,
                swiglu_limit=0.5, layer_types=["sliding_attention", "full_attention"])


def recurrent_decoders(decoder, moe, rope):
    """Most of their layers have a memory instead of attention."""
    linear = dict(head_dim=8, attention_bias=False, rope_parameters=rope, layer_types=["linear_attention", "full_attention"],
                  linear_conv_kernel_dim=4, linear_key_head_dim=6, linear_value_head_dim=10, linear_num_key_heads=2,
                  linear_num_value_heads=4)
    experts = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=16)
    text = decoder | linear
    mixture = {key: value for key, value in (text | experts).items() if key != "intermediate_size"}
    yield plain(T.Qwen3_5ForCausalLM, T.Qwen3_5TextConfig, **text)
    yield plain(T.Qwen3_5MoeForCausalLM, T.Qwen3_5MoeTextConfig, **mixture)
    yield plain(T.Qwen3NextForCausalLM, T.Qwen3NextConfig, **moe | linear | experts)
    seeing = dict(depth=1, hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=24, num_position_embeddings=16,
                  patch_size=4)
    axes = dict(rope_parameters=rope | {"mrope_section": [1, 1, 1]})
    text, mixture = ({k: v for k, v in each.items() if k != "tie_word_embeddings"} | axes for each in (text, mixture))
    yield plain(T.Qwen3_5ForConditionalGeneration, T.Qwen3_5Config, text_config=text, vision_config=seeing,
                tie_word_embeddings=False)
    yield plain(T.Qwen3_5MoeForConditionalGeneration, T.Qwen3_5MoeConfig, text_config=mixture, vision_config=seeing,
                tie_word_embeddings=False)
