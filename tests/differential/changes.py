"""Every change that is tried: keys of config.json deleted, null and with other values, and tensors that a file lacks, has
in excess, or has in another shape. A change is written as oracle.changed() describes."""

import transformers

import models

# Values by meaning. The same values everywhere, so that what one model type reads is tried in all others, too.
ACTIVATIONS = ["gelu", "gelu_10", "gelu_fast", "gelu_new", "gelu_python", "gelu_pytorch_tanh", "gelu_python_tanh",
               "gelu_accurate", "laplace", "leaky_relu", "linear", "mish", "quick_gelu", "relu", "relu2", "relu6",
               "sigmoid", "silu", "swish", "tanh", "SiLU", ""]
MODEL_TYPES = ["bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "gpt2", "opt", "llama", "mistral",
               "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "olmo", "granite", "t5", "mt5", "marian", "whisper", ""]
TEXTS = {
    "hidden_act": ACTIVATIONS, "hidden_activation": ACTIVATIONS, "activation": ACTIVATIONS,
    "activation_function": ACTIVATIONS, "dense_act_fn": ACTIVATIONS, "model_type": MODEL_TYPES,
    "feed_forward_proj": ["relu", "gelu", "gated-gelu", "gated-silu", "gated-relu", "silu", "gelu_new", "gated-", ""],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query", "rotary"],
    "rope_type": ["default", "linear", "dynamic", "yarn", "longrope", "llama3", "su", "mrope", "other"],
    "dtype": ["float32", "float16", "bfloat16", "auto", "other"],
    "torch_dtype": ["float32", "float16", "bfloat16", "other"],
    "problem_type": ["regression", "single_label_classification", "multi_label_classification", "other"],
}
TEXTS["type"] = TEXTS["rope_type"]
FRACTIONS = ("dropout", "_pdrop", "layerdrop", "_prob", "initializer", "init_std")  # of training only

# Keys of config.json that releases of transformers before 5 wrote for every model, or that only some models have. Each
# is tried in every model type.
COMMON = {
    "add_cross_attention": False, "attention_bias": False, "attn_logit_softcapping": 5.0, "bad_words_ids": [[5]],
    "begin_suppress_tokens": [5], "chunk_size_feed_forward": 0, "cross_attention_hidden_size": 24,
    "decoder_start_token_id": 3, "diversity_penalty": 0.0, "do_sample": False, "dtype": "float32",
    "early_stopping": False, "encoder_no_repeat_ngram_size": 0, "exponential_decay_length_penalty": [5, 1.1],
    "final_logit_softcapping": 0.5, "finetuning_task": "sst-2", "forced_bos_token_id": 5, "forced_eos_token_id": 5,
    "gradient_checkpointing": False, "head_dim": 8, "hidden_act": "gelu", "hidden_activation": "gelu",
    "id2label": {"0": "a", "1": "b"}, "is_decoder": False, "is_encoder_decoder": False, "label2id": {"a": 0, "b": 1},
    "layer_types": ["full_attention", "sliding_attention"], "length_penalty": 1.0, "max_length": 20,
    "max_window_layers": 1, "min_length": 0, "mlp_bias": False, "no_repeat_ngram_size": 0, "num_beam_groups": 1,
    "num_beams": 1, "num_labels": 2, "num_return_sequences": 1, "original_max_position_embeddings": 16,
    "output_attentions": False, "output_hidden_states": False, "output_past": True, "output_scores": False,
    "partial_rotary_factor": 1.0, "position_embedding_type": "absolute", "prefix": "a", "problem_type": "regression",
    "pruned_heads": {}, "quantization_config": {"bits": 4}, "query_pre_attn_scalar": 20, "remove_invalid_values": False,
    "repetition_penalty": 1.0, "return_dict": True, "return_dict_in_generate": False, "rope_interleaved": False,
    "rope_local_base_freq": 300.0, "rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 300.0,
    "sep_token_id": 5, "sliding_window": 4, "sliding_window_pattern": 2, "suppress_tokens": [5],
    "task_specific_params": {"translation": {"prefix": "a"}}, "temperature": 1.0, "tf_legacy_loss": False,
    "tie_encoder_decoder": False, "tie_word_embeddings": True, "tokenizer_class": "BertTokenizer", "top_k": 50,
    "top_p": 1.0, "torch_dtype": "float32", "torchscript": False, "transformers_version": "4.40.0", "typical_p": 1.0,
    "unk_token_id": 5, "use_bfloat16": False, "use_bidirectional_attention": False, "use_cache": True,
    "use_sliding_window": True, "is_causal": True, "norm_type": "layer", "an_unknown_key": 1,
}

# Settings of rotary positions that belong together.
ROPES = [
    {"rope_type": "default"}, {"rope_type": "linear", "factor": 2.5}, {"rope_type": "linear"},
    {"rope_type": "linear", "factor": 0.5}, {"rope_type": "linear", "factor": "2"}, {"rope_type": "linear", "factor": 2},
    {"rope_type": "dynamic", "factor": 4.0}, {"rope_type": "dynamic"},
    {"rope_type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 8},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}, {"rope_type": "yarn", "factor": 4.0},
    {"rope_type": "yarn"}, {"rope_type": "yarn", "original_max_position_embeddings": 8},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "attention_factor": 0.7},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 4.0, "beta_slow": 0.5},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "mscale": 1.0, "mscale_all_dim": 0.5},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "mscale": 0.7},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "truncate": False},
    {"rope_type": "longrope", "short_factor": "HALF", "long_factor": "TWICE", "original_max_position_embeddings": 16},
    {"rope_type": "longrope", "short_factor": "HALF", "long_factor": "TWICE", "original_max_position_embeddings": 16,
     "factor": 3.0},
    {"rope_type": "longrope", "short_factor": "HALF", "long_factor": "TWICE", "attention_factor": 1.5,
     "original_max_position_embeddings": 16},
    {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0], "original_max_position_embeddings": 16},
    {"rope_type": "longrope", "short_factor": "HALF", "original_max_position_embeddings": 16},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 16},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0,
     "original_max_position_embeddings": 16},
    {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 16},
    {"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_type": "default", "partial_rotary_factor": 0.25},
    {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5}, {"rope_type": "default", "other": 1},
    {"rope_type": "default", "attention_factor": 2.0}, {"rope_type": "default", "factor": 2.0},
    {"rope_type": "other", "factor": 2.0}, {"rope_theta": 300.0}, {"factor": 2.0}, {},
]


def values(key, now, otherwise):
    """Other values for a key whose value is now `now`; `otherwise` is a value of its usual type."""
    like = otherwise if now is None else now
    if key in TEXTS and (like is None or isinstance(like, str)):
        found = list(TEXTS[key])
    elif isinstance(like, bool):
        found = [True, False, 0, 1, "true"]
    elif isinstance(like, (int, float)) and any(word in key for word in FRACTIONS):
        found = [0, 0.5, 1]
    elif key == "chunk_size_feed_forward":
        found = [0, 1]
    elif key == "max_seq_len":  # shorter than a text, slopes still say all; transformers keeps a table that does not
        found = [like - 1, like + 1, 2 * like, like + 0.5, str(like)]
    elif isinstance(like, int):
        found = [0, 1, 2, 3, -1, like - 1, like + 1, 2 * like, like + 0.5, float(like), str(like)]
    elif isinstance(like, float):
        found = [0, 0.5 * like, 2 * like, -like, 1, 3.0, str(like)]
    elif isinstance(like, str):
        found = ["other", "", 1]
    elif isinstance(like, list):
        found = [[], like[:-1], like[::-1], like + like[-1:], like * 1, "other"]
        if like and isinstance(like[0], str):
            found += [[value] * len(like) for value in ("full_attention", "sliding_attention", "chunked_attention",
                                                        "linear_attention", "other")]
    elif isinstance(like, dict):
        found = [like, {}, "other"]
    else:
        found = [1, True, "other"]
    out = []
    for value in found + ([otherwise] if otherwise is not None else []):
        if not any(is_same(value, other) for other in out + [now]):
            out.append(value)
    return out


def is_same(a, b):
    return type(a) is type(b) and a == b


def of_key(config, key, otherwise):
    """Deleted, null, other values."""
    now = config.get(key)
    if key in config:
        yield {"drop": [key]}
    if key not in config or now is not None:
        yield {"set": {key: None}}
    for value in values(key, now, otherwise):
        yield {"set": {key: value}}
    if isinstance(now, dict):
        for inner, value in now.items():
            yield {"drop": [f"{key}/{inner}"]}
            for other in [None] + ([] if isinstance(value, dict) else values(inner, value, None)):
                yield {"set": {f"{key}/{inner}": other}}


def of_rotary(config):
    """The types of rotary positions, in the spelling of now and in the older ones."""
    heads = config.get("num_attention_heads") or config["encoder_num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    factors = {"HALF": [1.0 + 0.5 * i for i in range(head_dim // 2)], "TWICE": [2.0 + i for i in range(head_dim // 2)]}
    old = ["rope_parameters"] if "rope_parameters" in config else []
    for rope in ROPES:
        rope = {key: factors.get(value, value) if isinstance(value, str) else value for key, value in rope.items()}
        yield {"set": {"rope_parameters": {"rope_theta": 300.0} | rope}}
        yield {"drop": old, "set": {"rope_theta": 300.0, "rope_scaling": rope}}
        yield {"set": {"rope_theta": 300.0, "rope_scaling": rope}}
        if "rope_type" in rope:
            older = {"type" if key == "rope_type" else key: value for key, value in rope.items()}
            yield {"drop": old, "set": {"rope_theta": 300.0, "rope_scaling": older}}
            yield {"set": {"rope_scaling": older}}
    yield {"drop": old, "set": {"rope_theta": 300.0}}
    yield {"drop": old, "set": {"rope_theta": 300.0, "rope_scaling": None}}
    yield {"drop": old, "set": {"rope_theta": 300.0, "partial_rotary_factor": 0.5}}
    yield {"set": {"partial_rotary_factor": 0.5}}
    linear = {"rope_type": "linear", "factor": 2.0}
    for sliding in (None, {"rope_theta": 300.0}, {"rope_theta": 300.0, "rope_type": "default"}, linear):
        for full in (None, {"rope_theta": 900.0, "rope_type": "default"}, linear | {"rope_theta": 900.0}):
            by_layers = {k: v for k, v in (("sliding_attention", sliding), ("full_attention", full)) if v is not None}
            if by_layers:
                yield {"set": {"rope_parameters": by_layers}}
    yield {"drop": old, "set": {"rope_theta": 900.0, "rope_local_base_freq": 300.0}}
    yield {"drop": old, "set": {"rope_theta": 900.0, "rope_local_base_freq": 300.0,
                                "rope_scaling": {"rope_type": "linear", "factor": 8.0}}}


def of_windows(config):
    """Which layers have a sliding window, in the spellings of different releases."""
    old = ["layer_types"] if "layer_types" in config else []
    types = lambda *kinds: [kind + "_attention" for kind in kinds]
    for pattern in (0, 1, 2, 3):
        yield {"drop": old, "set": {"sliding_window_pattern": pattern}}
        yield {"drop": old, "set": {"_sliding_window_pattern": pattern}}
    for window in (None, 0, 1, 3, 12, 100):
        for slides in (True, False):
            yield {"drop": old, "set": {"sliding_window": window, "use_sliding_window": slides}}
            for full in (0, 1, 2, 3):
                yield {"drop": old,
                       "set": {"sliding_window": window, "use_sliding_window": slides, "max_window_layers": full}}
            yield {"set": {"sliding_window": window, "use_sliding_window": slides,
                           "layer_types": types("sliding", "full")}}
    yield {"set": {"layer_types": types("sliding")}}
    yield {"set": {"layer_types": types("sliding", "sliding", "full")}}


def of_tensors(base):
    tensors = base.tensors
    for name, shape in base.optional.items():  # with values of their own
        yield {"tensors": {name: shape}}
        yield {"tensors": {name: [shape[0] + 1] + shape[1:]}}
    for name, (shape, *_) in tensors.items():
        yield {"tensors": {name: None}}
        first = ".0." in name or not any(f".{i}." in name for i in range(10))
        if not first or not shape:
            continue
        yield {"tensors": {name: [shape[0] + 1] + shape[1:]}}
        yield {"tensors": {name: [1] + shape}}
        if len(shape) > 1:
            yield {"tensors": {name: shape[:-1] + [shape[-1] - 1]}}
            yield {"tensors": {name: shape[::-1]}}
    for name in ("another.weight", "position_ids", "lm_head.weight", "score.weight", "classifier.weight", "lm_head.bias",
                 "final_logits_bias", "cls.predictions.bias", "proj_out.weight"):
        if name not in tensors:
            yield {"tensors": {name: [models.VOCABULARY, 24] if name.endswith("weight") else [models.VOCABULARY]}}
    for name in list(tensors):
        module, _, kind = name.rpartition(".")
        if kind == "weight" and module + ".bias" not in tensors and (".0." in name or "layers" not in name):
            yield {"tensors": {module + ".bias": tensors[name][0][:1]}}
        if name.endswith("embed_tokens.weight"):
            for other in ("lm_head.weight", "shared.weight", "model.shared.weight"):
                if other not in tensors:
                    yield {"tensors": {other: tensors[name][0]}}


def all_of(base):
    """Every change of a plain model."""
    config = base.config
    usual = base.model_class.config_class().to_dict()
    yield {}
    keys = {key: None for key in config} | {key: None for key in usual} | {key: None for key in COMMON}
    aliases = base.model_class.config_class.attribute_map
    for key in keys | {key: None for key in aliases}:
        if key in ("architectures", "_name_or_path", "transformers_version"):
            continue
        otherwise = usual.get(key, COMMON.get(key))
        if otherwise is None:
            otherwise = COMMON.get(key)
        if key in aliases and key not in config:
            otherwise = config.get(aliases[key], otherwise)
        yield from of_key(config, key, otherwise)
    if "rope_parameters" in usual:
        yield from of_rotary(config)
        yield from of_windows(config)
    yield from of_tensors(base)


def few_of(base):
    """Changes of a model in the shape of a popular one: what its files may lack."""
    yield {}
    inner = [f"{key}/{name}" for key, value in base.config.items() if isinstance(value, dict) for name in value]
    for key in [*base.config, *inner]:
        if key not in ("architectures", "_name_or_path", "transformers_version"):
            yield {"drop": [key]}
            yield {"set": {key: None}}
    for name in base.tensors:
        yield {"tensors": {name: None}}
