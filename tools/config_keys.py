#!/usr/bin/env python3
"""Writes runtime/architectures/config_keys.json: the keys of config.json that transformers reads, for every model_type that
Lamina reads, with their defaults.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tools/config_keys.py > runtime/architectures/config_keys.json
    venv/bin/python tools/config_keys.py --check    compares the file with what the script writes (scripts/test-long does)

"types" says which values a key may have, by the annotations that transformers checks, of keys without effect, too.

Two methods find the keys. The first reads the source of transformers: whatever is read off a configuration in the classes
below and in all that these use, in any branch, and whatever the configuration's class takes. The second watches tiny
models run. Neither knows whether a key can change a number; NO_EFFECT lists those that cannot, with the reason.
"""

import ast
import dataclasses
import importlib
import importlib.metadata
import inspect
import json
import pathlib
import sys
import types
import typing
import warnings

import torch
import transformers
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RotaryEmbeddingConfigMixin
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TABLE = pathlib.Path(__file__).parent.parent / "runtime" / "architectures" / "config_keys.json"

MODEL_TYPES = ["albert", "bart", "bert", "blip", "blip_text_model", "blip_vision_model", "bloom", "camembert", "clip",
               "clip_text_model", "clip_vision_model", "cohere",
               "cohere2", "deberta", "deberta-v2", "deepseek_v2", "deepseek_v3", "deit", "dinov2", "dinov3_vit",
               "distilbert", "electra",
               "ernie4_5", "ernie4_5_moe", "esm", "exaone4", "falcon", "falcon_h1", "falcon_mamba", "gemma", "gemma2",
               "gemma3", "gemma3_text", "gemma4", "gemma4_text", "gemma4_vision", "glm", "glm4", "glm4_moe", "glm4_moe_lite",
               "gpt2", "gpt_neo", "gpt_neox", "gpt_oss", "gptj", "granite", "granitemoe", "granitemoehybrid", "gte",
               "hubert", "idefics3", "idefics3_vision", "internvl", "internvl_vision", "layoutlmv3", "lfm2", "lfm2_moe", "llama",
               "llava",
               "longformer",
               "m2m_100", "mamba", "mamba2", "marian", "mbart", "ministral3", "mistral", "mistral3", "mixtral", "modernbert",
               "moonshine", "mpnet", "mpt", "mt5", "nemotron_h", "nomic_bert", "olmo", "olmo2", "olmo3", "olmoe", "opt",
               "paligemma",
               "pegasus", "phi", "phi3", "pixtral", "qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_5_vl_vision",
               "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_vl_vision", "qwen3", "qwen3_5", "qwen3_5_moe",
               "qwen3_5_moe_text", "qwen3_5_moe_vision", "qwen3_5_text", "qwen3_5_vision", "qwen3_moe", "qwen3_next",
               "qwen3_vl", "qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_vl_moe_vision", "qwen3_vl_text", "qwen3_vl_vision",
               "roberta", "siglip", "siglip_text_model", "siglip_vision_model", "smollm3", "smolvlm", "smolvlm_vision",
               "stablelm", "starcoder2", "t5", "trocr", "vision-encoder-decoder", "vit", "wav2vec2", "wavlm", "whisper",
               "xlm-roberta"]

# The kinds of models that Lamina reads, as transformers maps a configuration to their classes.
TASKS = ["", "CAUSAL_LM", "CTC", "IMAGE_CLASSIFICATION", "MASKED_LM", "PRETRAINING", "QUESTION_ANSWERING",
         "SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION"]

# The code that models share. cache_utils is not among it: keys and values that are kept must not change a result.
SHARED = ["masking_utils", "modeling_layers", "modeling_rope_utils"]
# What reads a configuration while a model is loaded.
LOADING = {"modeling_utils": ["from_pretrained", "get_expanded_tied_weights_keys"], "quantizers.auto": ["get_hf_quantizer"]}

# Keys that transformers reads and that cannot change what a trained model computes. "TYPE.KEY" is of one type alone, and
# "-TYPE.KEY" is an exception.
NO_EFFECT = {
    "for training alone": [
        "activation_dropout", "apply_spec_augment", "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop",
        "classifier_dropout", "classifier_dropout_prob", "cls_dropout", "ctc_loss_reduction", "ctc_zero_infinity",
        "decoder_layerdrop", "dropout", "dropout_rate", "embd_pdrop", "embed_dropout", "embedding_dropout",
        "encoder_layerdrop", "feat_proj_dropout", "feat_quantizer_dropout", "final_dropout", "gradient_checkpointing",
        "hidden_dropout", "hidden_dropout_prob", "layerdrop", "mask_feature_length", "mask_feature_min_masks",
        "mask_feature_prob", "mask_time_length", "mask_time_min_masks", "mask_time_prob", "mlp_dropout",
        "output_router_logits", "pooler_dropout", "projection_dropout", "qa_dropout", "resid_dropout", "resid_pdrop",
        "residual_dropout",
        "router_aux_loss_coef", "router_jitter_noise", "seq_classif_dropout", "sparse_pred_ignore_index",
        "sparse_prediction", "summary_first_dropout"],
    "first values of weights, which a file replaces": [
        "init_std", "initializer_cutoff_factor", "initializer_factor", "initializer_range", "layer_scale_init_value",
        "logit_scale_init_value",
        "mamba_dt_init_floor", "mamba_dt_max", "rescale_prenorm_residual", "sinusoidal_pos_embds", "time_step_floor",
        "time_step_init_scheme", "time_step_max", "time_step_min", "time_step_scale",
        "-falcon_mamba.rescale_prenorm_residual", "-mamba.rescale_prenorm_residual", "-mamba2.rescale_prenorm_residual",
        "-nemotron_h.time_step_min"],
    "sizes of heads, which their class says": ["num_labels"],
    "tokens that mean something to tokenizers and generation": [
        "bos_token_id", "decoder_start_token_id", "eos_token_id", "forced_decoder_ids", "pad_token_id", "sep_token_id",
        "unk_token_id", "-camembert.pad_token_id", "-clip_text_model.eos_token_id", "-esm.pad_token_id",
        "-longformer.pad_token_id", "-longformer.sep_token_id",
        "-gemma4_text.pad_token_id", "-layoutlmv3.pad_token_id",
        "-m2m_100.pad_token_id",
        "-roberta.pad_token_id", "-trocr.pad_token_id", "-xlm-roberta.pad_token_id"],
    "what a result is called, and the loss of training": ["id2label", "label2id", "problem_type"],
    "which results are returned": [
        "output_attentions", "output_hidden_states", "return_dict", "tie_last_hidden_states", "use_cache"],
    "how the same numbers are computed": [
        "_attn_implementation", "attn_implementation", "chunk_size", "chunk_size_feed_forward", "deterministic_flash_attn",
        "distributed_config", "dtype", "experts_implementation", "mamba_chunk_size", "num_logits_to_keep", "pretraining_tp",
        "onnx_export", "residual_in_fp32", "slow_but_exact", "fusion_config", "reorder_and_upcast_attn", "torch_dtype",
        "use_associative_scan", "use_falcon_mambapy", "use_mamba_kernels", "use_mambapy"],
    "where a file is from": [
        "_commit_hash", "_name_or_path", "architectures", "model_type", "name_or_path", "transformers_version"],
    "read, but not used": ["gemma3_text.attn_logit_softcapping", "mamba2.time_step_rank", "mistral.layer_types",
                           "nemotron_h.expand", "nemotron_h.mamba_dt_limit", "nemotron_h.mamba_expand",
                           "nemotron_h.num_hidden_layers", "nemotron_h.time_step_limit"],
    "drafts of tokens ahead": ["mtp_layers_block_type", "num_mtp_layers"],
    "for classes of other tasks": [
        "classifier_proj_size", "codevector_dim", "contrastive_logits_temperature", "diversity_loss_weight",
        "num_codevector_groups", "num_codevectors_per_group", "num_negatives", "proj_codevector_dim",
        "summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj",
        "token_classification_bias", "use_weighted_layer_sum"],
}

# Keys that release 4 read and release 5 does not, with the default of release 4. A model that was trained with another
# value is not computed right without them.
RELEASE_4 = {model_type: {"position_embedding_type": "absolute"} 
             for model_type in ("albert", "bert", "camembert", "electra", "roberta", "xlm-roberta")}

# Keys whose defaults a class has as that of a parameter or as a constant, or that it reads in a property.
ELSEWHERE = {"blip_text_model": {"bos_token_id": 30522, "sep_token_id": 102},
             "dinov3_vit": {"rope_theta": 100.0}, "esm": {"rope_theta": 10000.0}, "gemma3": {"boi_token_index": 255999,
             "eoi_token_index": 256000},
             "gemma4": {"boi_token_id": 255999, "eoi_token_id": 258882},
             "internvl": {"vision_feature_layer": -1, "vision_feature_select_strategy": "default"},
             "llava": {"vision_feature_select_strategy": "default"},
             "modernbert": {"local_attention": 128},
             "nemotron_h": {"hybrid_override_pattern": None}, "nomic_bert": {"tie_word_embeddings": True},
             "phi3": {"rope_theta": 10000.0}}

# Types that transformers reads under another name, with the keys that only their own code knows, which must have these
# values.
RENAMED = {"jina_bert": ("bert", {"feed_forward_type": "original", "position_embedding_type": "alibi"}),
           "new": ("gte", {"layer_norm_type": "layer_norm", "logn_attention_clip1": False, "logn_attention_scale": False,
                           "position_embedding_type": "rope", "rope_theta": 10000.0})}
# Types that transformers does not read, with the keys that the package which does reads, and their defaults; ? as in the
# table. rwkv7: flash-linear-attention 0.6, fla/models/rwkv7.
OTHERS = {"rwkv7": {
    "a_low_rank_dim?": 64, "attn?": None, "decay_low_rank_dim?": 64, "fuse_norm": True, "gate_low_rank_dim?": 128,
    "head_dim?": 64, "hidden_act": "sqrelu", "hidden_ratio?": 4, "hidden_size": 2048, "intermediate_size?": None,
    "norm_bias": True, "norm_eps": 1e-05, "norm_first": True, "num_heads?": None, "num_hidden_layers": 24,
    "per_layer_config?": None, "quantization_config?": None, "tie_word_embeddings": False, "transformers_weights?": None,
    "v_low_rank_dim?": 16, "value_dim?": None, "vocab_size": 32000}}
# Rotary positions of such types.
OWN_ROPE_TYPES = {"ntk": {"factor?": None, "mixed_b?": None, "rope_theta?": None}}

# Classes of parts that no task has by themselves.
PARTS = {"blip": "BlipForConditionalGeneration", "blip_text_model": "BlipTextLMHeadModel",
         "blip_vision_model": "BlipVisionModel", "idefics3_vision": "Idefics3VisionTransformer",
         "smolvlm_vision": "SmolVLMVisionTransformer",
         "qwen2_5_vl_vision": "Qwen2_5_VisionTransformerPretrainedModel",
         "qwen2_vl_vision": "Qwen2VisionTransformerPretrainedModel", "qwen3_vl_moe_vision": "Qwen3VLMoeVisionModel",
         "qwen3_vl_vision": "Qwen3VLVisionModel",
         "siglip_text_model": "SiglipTextModel", "vision-encoder-decoder": "VisionEncoderDecoderModel"}

NAMES = {"config", "decoder_config", "effective_config", "encoder_config", "layer_config", "model_config", "text_config"}


# ---- Reading the source ----

def is_configuration(node):
    """Whether an expression is a configuration: config, self.config, model.config.get_text_config(), ..."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "get_text_config"
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in NAMES


def text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def reads(tree, is_source):
    """(key, the default as an expression or None) for every read off an expression that is_source accepts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and is_source(node.value):
            yield node.attr, None
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", "")
            if name in ("getattr", "hasattr") and is_source(node.args[0]) and text(node.args[1]):
                yield text(node.args[1]), node.args[2] if len(node.args) > 2 else None


def items_read(tree, is_source):
    """The same for the items of a dict: source["key"], source.get("key", default), source.pop(...), "key" in source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and is_source(node.value) and text(node.slice):
            yield text(node.slice), None
        elif isinstance(node, ast.Compare) and is_source(node.comparators[0]) and text(node.left):
            yield text(node.left), None
        elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop")
              and is_source(node.func.value) and text(node.args[0])):
            yield text(node.args[0]), node.args[1] if len(node.args) > 1 else None


class Source:
    """The definitions of a module, and the names that it imports from modules of `transformers`."""

    modules = {}

    def __init__(self, module):
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
        self.definitions, self.imports = {}, {}
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.definitions[node.name] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.definitions[getattr(target, "id", "")] = node
            elif isinstance(node, ast.ImportFrom):
                start = module.rsplit(".", node.level)[0] + "." if node.level else ""
                self.imports |= {name.asname or name.name: start + (node.module or "") for name in node.names}

    @classmethod
    def of(cls, module):
        if module not in cls.modules:
            cls.modules[module] = cls(module)
        return cls.modules[module]


def definitions_used(module, roots):
    """The definitions of these names, and of all that they use in their module and in SHARED."""
    shared = {"transformers." + name for name in SHARED}
    todo, seen = [(module, root) for root in roots], set()
    while todo:
        place = todo.pop()
        source = Source.of(place[0])
        if place in seen or place[1] not in source.definitions:
            continue
        seen.add(place)
        definition = source.definitions[place[1]]
        yield definition
        for name in sorted({node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}):
            if name in source.definitions:
                todo.append((place[0], name))
            elif source.imports.get(name) in shared:
                todo.append((source.imports[name], name))


def taken_by_class(config_class):
    """What the configuration's classes take out of config.json, beside their fields, and the fields that they compute with.
    The most derived class comes first."""
    fields = {field.name for field in dataclasses.fields(config_class)}
    is_self = lambda node: isinstance(node, ast.Name) and node.id == "self"
    is_rest = lambda node: isinstance(node, ast.Name) and node.id == "kwargs"
    for owner in config_class.__mro__:
        if not owner.__module__.startswith("transformers") or "Hub" in owner.__name__:
            continue
        if owner is RotaryEmbeddingConfigMixin and "rope_parameters" not in fields:
            continue
        for method in Source.of(owner.__module__).definitions[owner.__name__].body:
            if not isinstance(method, ast.FunctionDef) or method.name not in (
                    "__post_init__", "convert_rope_params_to_dict", "standardize_rope_params"):
                continue
            yield from items_read(method, is_rest)
            yield from ((key, default) for key, default in reads(method, is_self)
                        if key in fields or default is not None or key == "original_max_position_embeddings")


# ---- Watching models run ----

TINY = dict(vocab_size=53, hidden_size=32, d_model=32, n_embd=32, dim=32, num_hidden_layers=2, n_layer=2, n_layers=2,
            num_layers=2, encoder_layers=2, decoder_layers=2, num_attention_heads=2, n_head=2, n_heads=2, num_heads=2,
            encoder_attention_heads=2, decoder_attention_heads=2, num_key_value_heads=1, head_dim=16, d_kv=16,
            intermediate_size=20, n_inner=20, hidden_dim=20, d_ff=20, ffn_dim=20, encoder_ffn_dim=20, decoder_ffn_dim=20,
            max_position_embeddings=32, n_positions=32, max_source_positions=4, max_target_positions=16, num_mel_bins=5,
            pad_token_id=1, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=3,
            sliding_window=4, word_embed_proj_dim=32, attention_types=[[["global", "local"], 1]], rotary_dim=8,
            image_size=8, input_size=8, patch_size=4, coordinate_size=6, shape_size=4, depth=2, embed_dim=32,
            linear_num_value_heads=2, linear_num_key_heads=1,
            linear_key_head_dim=8,
            linear_value_head_dim=8, full_attention_interval=2, num_experts=4, num_experts_per_tok=2,
            n_routed_experts=4, expand=1, n_groups=1, state_size=8, ssm_state_size=8, mamba_expand=1, mamba_n_heads=2,
            mamba_num_heads=2, mamba_head_dim=16, moe_intermediate_size=20, n_group=1, topk_group=1)
TINY |= {part: {key: TINY[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                                           "intermediate_size", "image_size", "patch_size", "num_key_value_heads",
                                           "full_attention_interval")}
         for part in ("text_config", "vision_config")}
TINY |= {"encoder": TINY["vision_config"] | {"model_type": "vit"}, "decoder": TINY["text_config"] | {"model_type": "trocr"}}
AXES = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}


def model_classes(config_class):
    mappings = [getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING" if task else "MODEL_MAPPING") for task in TASKS]
    found = [mapping[config_class] for mapping in mappings if config_class in mapping]
    if config_class.model_type in PARTS:
        module = config_class.__module__.replace(".configuration_", ".modeling_")
        found.append(getattr(importlib.import_module(module), PARTS[config_class.model_type]))
    return list(dict.fromkeys(c for entry in found for c in (entry if isinstance(entry, (tuple, list)) else [entry])))


def watched(config_class):
    """The keys that the code of models reads while they are made and run."""
    keys, original = set(), PreTrainedConfig.__getattribute__
    modules = {"transformers." + name for name in SHARED} | {c.__module__ for c in model_classes(config_class)}

    def watching(self, key):
        if sys._getframe(1).f_globals["__name__"] in modules:
            keys.add(key)
        return original(self, key)

    names = {field.name for field in dataclasses.fields(config_class)}
    if "linear_num_key_heads" in names:
        names.add("full_attention_interval")  # a key of config.json without a field
    tiny = {key: dict(value) if isinstance(value, dict) else value for key, value in TINY.items() if key in names}
    qwen = config_class.model_type.startswith(("qwen2_vl", "qwen2_5_vl"))
    if qwen and not config_class.model_type.endswith("_vision"):  # which have no default for the axes of positions
        (tiny["text_config"] if "text_config" in tiny else tiny)["rope_parameters"] = AXES
    if "kv_lora_rank" in names:  # heads that are made from one row share nothing
        tiny = {key: value for key, value in tiny.items() if key not in ("head_dim", "num_key_value_heads")}
    if {"mamba_n_heads", "layer_types"} <= names:  # by default, no layer has attention
        tiny["layer_types"] = ["linear_attention", "full_attention"]
    if "num_dense_layers" in names:  # there is no default
        tiny["layer_types"] = ["conv", "full_attention"]
    config = config_class(**tiny)
    ids = torch.tensor([[4, 5, 6, 7, TINY["eos_token_id"]]])
    if config_class.model_type == "longformer":  # a question ends at the first of three separators
        ids = torch.tensor([[4, 2, 2, 5, 2]])
    PreTrainedConfig.__getattribute__ = watching
    try:
        for model_class in model_classes(config_class):
            if issubclass(model_class.config_class, PreTrainedConfig) and not isinstance(config, model_class.config_class):
                continue  # it takes a part of this configuration, which has an entry of its own
            model = model_class(config).eval()
            inputs = {"input_ids": ids, "decoder_input_ids": ids, "input_features": torch.zeros(1, 5, 8),
                      "input_values": torch.zeros(1, 1300),
                      "hidden_states": torch.zeros(4, 3 * 2 * TINY["patch_size"] ** 2),
                      "grid_thw": torch.tensor([[1, 2, 2]]),
                      "pixel_values": torch.zeros(1, 3, TINY["image_size"], TINY["image_size"])}
            taken = inspect.signature(model.forward).parameters
            if "pixel_position_ids" in taken:  # of patches
                side = config.pooling_kernel_size
                inputs["pixel_values"] = torch.zeros(1, side * side, 3 * TINY["patch_size"] ** 2)
                inputs["pixel_position_ids"] = torch.cartesian_prod(torch.arange(side), torch.arange(side))[None]
            # A model that also reads texts alone.
            if {"image_grid_thw", "image_position_ids"} & set(taken) or names & {
                    "image_seq_length", "image_token_index", "mm_tokens_per_image", "scale_factor"}:
                del inputs["pixel_values"]
            with torch.no_grad():
                model(**{key: value for key, value in inputs.items() if key in taken})
    finally:
        PreTrainedConfig.__getattribute__ = original
    return keys


# ---- The table ----

UNKNOWN = object()
COMPUTED = object()  # a default that follows from other keys


def value_of(expression, config):
    """The value of a default, which may refer to the configuration itself. COMPUTED if JSON cannot say it."""
    try:
        value = eval(compile(ast.Expression(expression), "default", "eval"), {"self": config})
    except Exception:
        return COMPUTED
    return value if value is None or isinstance(value, (bool, int, float, str)) else COMPUTED


def accepts_null(config_class, key):
    """Alone, or where the types of layers are given, which else follow from other keys."""
    layers = config_class().to_dict().get("num_hidden_layers") or 0
    for more in ({}, {"layer_types": ["full_attention"] * layers}):
        try:
            config_class(**{key: None} | more)
            return True
        except Exception:
            pass
    return False


def finite(value):
    """A default with the greatest number for infinity, which JSON cannot say."""
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return sys.float_info.max if value == float("inf") else value


def marked(defaults, accepts_null):
    """The table's part for these defaults: a question mark after a key says that its value may be null."""
    out = {}
    for key in sorted(defaults):
        default = None if defaults[key] in (UNKNOWN, COMPUTED) else finite(defaults[key])
        nullable = default is None and defaults[key] is not COMPUTED or accepts_null(key)
        out[key + ("?" if nullable else "")] = default
    return out


def type_of(annotation):
    """The JSON values that the strict classes of transformers take for a field with this annotation, as alternatives: "int",
    "float", "bool", "str", "null", "list", "dict", "list[int]" and the like. What JSON cannot say is left out."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return list(dict.fromkeys(alternative for part in parts for alternative in type_of(part)))
    if origin is list and len(type_of(parts[0])) == 1:
        return [f"list[{type_of(parts[0])[0]}]"]
    if annotation is type(None):
        return ["null"]
    if origin is typing.Literal:
        return ["str"]
    if origin is dict:
        return ["dict"]
    if annotation in (int, float, bool, str, list, dict):
        return [annotation.__name__]
    is_config = isinstance(annotation, type) and issubclass(annotation, PreTrainedConfig)
    if is_config or tuple in (origin, annotation) or typing.is_typeddict(annotation):
        return []
    raise TypeError(f"{annotation}: type_of() and config_keys.cpp do not know this type")


def types_of(config_class):
    """{type: keys}. Annotations that are texts are not checked by transformers."""
    out = {}
    for field in dataclasses.fields(config_class):
        if not isinstance(field.type, str):
            out.setdefault(" | ".join(type_of(field.type)), []).append(field.name)
    return {kind: sorted(out[kind]) for kind in sorted(out)}


def read_while_loading():
    for module, functions in LOADING.items():
        tree = ast.parse(inspect.getsource(importlib.import_module("transformers." + module)))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in functions:
                yield from reads(node, is_configuration)


def is_key(config_class, key):
    """Whether config.json may have it: not a method, and not a constant of the class."""
    constant = getattr(config_class, key, None)
    is_field = key in {field.name for field in dataclasses.fields(config_class)}
    return key not in NAMES and not key.startswith("__") and (
        is_field or constant is None or isinstance(constant, property) and constant.fset is not None)


def has_effect(model_type, key):
    names = {name for group in NO_EFFECT.values() for name in group}
    return f"-{model_type}.{key}" in names or not {key, f"{model_type}.{key}"} & names


def aliases_of(config_class):
    """{another name: key}. A key is a field of the class, on whichever side its map of attributes has it."""
    fields = {field.name for field in dataclasses.fields(config_class)}
    swapped = lambda name, key: (key, name) if name in fields and key not in fields else (name, key)
    return dict(sorted(swapped(*item) for item in config_class.attribute_map.items()))


def keys_of(model_type):
    """{key: default}"""
    config_class = CONFIG_MAPPING[model_type]
    config, fields = config_class(), {field.name: field.default for field in dataclasses.fields(config_class)}
    classes, aliases = model_classes(config_class), aliases_of(config_class)
    found = [*taken_by_class(config_class), *read_while_loading()]
    for definition in definitions_used(classes[0].__module__, [c.__name__ for c in classes]):
        found += reads(definition, is_configuration)
    found += [(key, None) for key in watched(config_class)]
    if "rope_parameters" not in fields:
        found = [(key, default) for key, default in found if not key.startswith("rope_")]

    defaults = RELEASE_4.get(model_type, {}) | ELSEWHERE.get(model_type, {})
    for key, default in found:
        key = aliases.get(key, key)
        if not is_key(config_class, key) or not has_effect(model_type, key):
            continue
        value = fields[key] if key in fields else value_of(default, config) if default is not None else UNKNOWN
        if defaults.get(key, UNKNOWN) is UNKNOWN or value is COMPUTED and defaults[key] is None:
            defaults[key] = value
    return marked(defaults, lambda key: key in fields and accepts_null(config_class, key))


def rope_types():
    """For each type of rotary positions, the keys of rope_parameters that it reads."""
    definitions = Source.of("transformers.modeling_rope_utils").definitions
    is_source = lambda node: "rope_parameters" in (getattr(node, "id", "") or getattr(node, "attr", ""))
    out = {"default": {"rope_theta?": None}}
    for name, function in ROPE_INIT_FUNCTIONS.items():
        defaults = {}
        for key, default in items_read(definitions[function.__name__], is_source):
            if default is not None or key not in defaults:
                defaults[key] = value_of(default, None) if default is not None else UNKNOWN
        out[name] = marked(defaults, lambda key: False)
    return out


def without_effect():
    """{reason: keys}"""
    out = {reason: sorted({key.rpartition(".")[2] for key in keys if not key.startswith("-")})
           for reason, keys in NO_EFFECT.items()}
    return out | {"about generation": sorted(transformers.GenerationConfig._get_default_generation_params())}


def table():
    models = {}
    for model_type in MODEL_TYPES:
        models[model_type] = {"aliases": aliases_of(CONFIG_MAPPING[model_type]),
                              "keys": keys_of(model_type), "types": types_of(CONFIG_MAPPING[model_type])}
    for model_type, (other, keys) in RENAMED.items():
        models[model_type] = models[other] | {"keys": models[other]["keys"] | keys}
    for model_type, keys in OTHERS.items():
        models[model_type] = {"aliases": {}, "keys": keys, "types": {}}
    return {"release": "transformers " + importlib.metadata.version("transformers"),
            "no_effect": without_effect(),
            "rope_types": rope_types() | OWN_ROPE_TYPES,
            "models": models}


def in_lines(value, indent="", width=125):
    """JSON with as much on a line as fits."""
    flat = json.dumps(value)
    if len(indent) + len(flat) <= width - 2 or not value or not isinstance(value, (dict, list)):
        return flat
    inner = indent + "  "
    parts = ([json.dumps(k) + ": " + in_lines(v, inner, width) for k, v in value.items()] if isinstance(value, dict)
             else [in_lines(v, inner, width) for v in value])
    lines = []
    for part in parts:
        fits = lines and "\n" not in part + lines[-1] and len(lines[-1]) + len(part) + 2 <= width
        if fits and not part.endswith(("}", "]")):
            lines[-1] += ", " + part
        else:
            if lines:
                lines[-1] += ","
            lines.append(inner + part)
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return start + "\n" + "\n".join(lines) + "\n" + indent + end


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    written = in_lines(table()) + "\n"
    if "--check" not in sys.argv:
        sys.stdout.write(written)
    elif TABLE.read_text() != written:
        sys.exit(f"{TABLE} is not what this script writes with transformers {transformers.__version__}; it was made with "
                 f"{json.loads(TABLE.read_text())['release']}")
