"""GGUF files: small models of the architectures that are read from GGUF, changes of their metadata and tensors, and what
llama.cpp computes from them. Transformers reads such files, too, but few of their keys; where it reads all that a change
touches, its numbers must be the same, and make.py sees to it."""

import copy
import functools
import math
import pathlib
import tempfile

import gguf
import torch
import transformers

import models
import oracle

EMBEDDING, HEADS, KV_HEADS, CHANNELS, HIDDEN, CONTEXT = 24, 4, 2, 8, 20, 32
ARCHITECTURES = ("llama", "qwen2", "qwen3")
# In the names of what transformers does not read, but for Qwen2's biases.
UNREAD = ("rope.scal", "rope_freqs", "attn_qkv", ".bias")
REQUIRED = ("general.architecture", "block_count", "context_length", "embedding_length", "feed_forward_length",
            "attention.head_count", "attention.layer_norm_rms_epsilon")


class Gguf:
    """A model file. `config` is its metadata, {key: [type, value]}; `tensors` is as in models.Base."""

    def __init__(self, architecture):
        self.name, self.family = f"{architecture}.gguf", architecture
        channels = EMBEDDING // HEADS if architecture == "qwen2" else CHANNELS  # of which transformers knows no other
        settings = {
            "block_count": ["u32", 2], "context_length": ["u32", CONTEXT], "embedding_length": ["u32", EMBEDDING],
            "feed_forward_length": ["u32", HIDDEN], "attention.head_count": ["u32", HEADS],
            "attention.head_count_kv": ["u32", KV_HEADS], "attention.key_length": ["u32", channels],
            "attention.value_length": ["u32", channels], "attention.layer_norm_rms_epsilon": ["f32", 1e-5],
            "rope.dimension_count": ["u32", channels], "rope.freq_base": ["f32", 500.0],
            "vocab_size": ["u32", models.VOCABULARY]}
        self.config = {"general.architecture": ["string", architecture], "general.name": ["string", "small"]}
        self.config |= {f"{architecture}.{key}": value for key, value in settings.items()}
        shapes = {"token_embd.weight": [models.VOCABULARY, EMBEDDING]}
        for i in range(2):
            shapes |= {f"blk.{i}.{name}": shape for name, shape in block(architecture, channels).items()}
        shapes |= {"output_norm.weight": [EMBEDDING], "output.weight": [models.VOCABULARY, EMBEDDING]}
        self.tensors = {name: kind_of(name, shape) for name, shape in shapes.items()}

    def oracle(self):
        return Oracle(self)

    def changes(self):
        return changes_of(self)

    @functools.cached_property
    def header(self):
        """"hash": FNV-1a of the file that the package gguf writes. differential_test.cpp writes the same bytes."""
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder) / "model.gguf", self.config, self.tensors)
            state = 0xcbf29ce484222325
            for byte in (pathlib.Path(folder) / "model.gguf").read_bytes():
                state = (state ^ byte) * 0x100000001b3 % 2**64
        return {"hash": str(state)}


def block(architecture, channels):
    out = {"attn_norm.weight": [EMBEDDING], "attn_q.weight": [HEADS * channels, EMBEDDING],
           "attn_k.weight": [KV_HEADS * channels, EMBEDDING], "attn_v.weight": [KV_HEADS * channels, EMBEDDING],
           "attn_output.weight": [EMBEDDING, HEADS * channels], "ffn_norm.weight": [EMBEDDING],
           "ffn_gate.weight": [HIDDEN, EMBEDDING], "ffn_up.weight": [HIDDEN, EMBEDDING],
           "ffn_down.weight": [EMBEDDING, HIDDEN]}
    if architecture == "qwen2":
        out |= {f"attn_{x}.bias": out[f"attn_{x}.weight"][:1] for x in "qkv"}
    if architecture == "qwen3":
        out |= {"attn_q_norm.weight": [channels], "attn_k_norm.weight": [channels]}
    return out


def kind_of(name, shape):
    """Values around 1 for norms and for the divisors of frequencies."""
    if name == "rope_freqs.weight" or "norm" in name:
        return [shape, "F32", 1, 0.5]
    return [shape, "F32", 0, 0.02 if name.startswith("token_embd") else 0.4]


def write(file, metadata, tensors):
    writer = gguf.GGUFWriter(file, "none")
    writer.kv_data[0].clear()  # general.architecture, which may be what is missing
    add = {"u32": writer.add_uint32, "f32": writer.add_float32, "bool": writer.add_bool, "string": writer.add_string}
    for key, (kind, value) in metadata.items():
        add[kind](key, value)
    for name, kind in tensors.items():
        writer.add_tensor(name, models.tensor(name, kind).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- Changes ----

def changes_of(base):
    yield {}
    key = lambda setting: f"{base.family}.{setting}"
    for name, (kind, value) in base.config.items():
        yield {"drop": [name]}
        if kind == "u32":
            for other in (0, 1, value - 1, value + 1, 2 * value):
                yield {"set": {name: ["u32", other]}}
            yield {"set": {name: ["f32", float(value)]}}
            yield {"set": {name: ["string", str(value)]}}
        elif kind == "f32":
            for other in (0.0, 0.5 * value, 3.0 * value, -value):
                yield {"set": {name: ["f32", other]}}
            yield {"set": {name: ["string", str(value)]}}
        else:
            yield {"set": {name: ["string", "other"]}}
    for setting, *others in (("attention.sliding_window", ["u32", 4], ["u32", 0]), ("rope.scaling.finetuned", ["bool", True]),
                             ("rope.scale_linear", ["f32", 2.0], ["f32", 0.0]), ("expert_count", ["u32", 2]),
                             ("attention.layer_norm_epsilon", ["f32", 1e-3]), ("attention.causal", ["bool", False]),
                             ("attn_logit_softcapping", ["f32", 2.0]), ("final_logit_softcapping", ["f32", 0.5]),
                             ("rope.scaling.attn_factor", ["f32", 1.2], ["f32", 1.0]), ("an_unknown_key", ["u32", 1])):
        for other in others:
            yield {"set": {key(setting): other}}
    for scaling in scalings():
        settings = {key(f"rope.scaling.{name}"): value for name, value in scaling.items()}
        yield {"set": settings}
        yield {"drop": [key("rope.freq_base")], "set": settings}
        if base.family == "llama":
            yield {"set": settings, "tensors": {"rope_freqs.weight": [base.config[key("rope.dimension_count")][1] // 2]}}
    channels = base.config[key("rope.dimension_count")][1]
    for shape in ([channels // 2], [channels], [channels // 2 - 1]):
        yield {"tensors": {"rope_freqs.weight": shape}}
    for name, (shape, *_) in base.tensors.items():
        yield {"tensors": {name: None}}
        if not name.startswith("blk.1."):
            yield {"tensors": {name: [shape[0] + 1] + shape[1:]}}
            yield {"tensors": {name: shape[:-1] + [shape[-1] - 1]}}
    yield from fused(base, channels)
    for name in ("blk.0.attn_q.bias", "blk.0.attn_output.bias", "blk.0.ffn_up.bias", "blk.0.attn_q_norm.weight",
                 "blk.2.attn_q.weight", "output.bias", "another.weight"):
        if name not in base.tensors:
            yield {"tensors": {name: [EMBEDDING]}}


def fused(base, channels):
    """Queries, keys and values as one tensor, with biases apart or not, also of a wrong size or beside the others."""
    rows = (HEADS + 2 * KV_HEADS) * channels
    weights, biases = ([f"blk.0.attn_{x}.{kind}" for x in "qkv"] for kind in ("weight", "bias"))
    weight, bias = "blk.0.attn_qkv.weight", "blk.0.attn_qkv.bias"
    none = lambda names: dict.fromkeys(names)
    yield {"tensors": none(weights) | {weight: [rows, EMBEDDING]}}
    yield {"tensors": none(weights) | {weight: [rows + 1, EMBEDDING]}}
    yield {"tensors": none(weights[1:]) | {weight: [rows, EMBEDDING]}}
    yield {"tensors": {weight: [rows, EMBEDDING]}}
    if biases[0] in base.tensors:
        yield {"tensors": none(weights + biases) | {weight: [rows, EMBEDDING], bias: [rows]}}
        yield {"tensors": none(weights + biases) | {weight: [rows, EMBEDDING], bias: [rows - 1]}}
        yield {"tensors": none(weights) | {weight: [rows, EMBEDDING], bias: [rows]}}
        yield {"tensors": none(biases) | {bias: [rows]}}


def scalings():
    yarn, factor, length = {"type": ["string", "yarn"]}, {"factor": ["f32", 4.0]}, {"original_context_length": ["u32", 8]}
    yield factor
    yield {"factor": ["f32", 0.0]}
    for kind in ("none", "linear", "yarn", "longrope", "other"):
        yield {"type": ["string", kind]}
        yield {"type": ["string", kind]} | factor
        yield {"type": ["string", kind]} | factor | {"attn_factor": ["f32", 0.7]}
    yield yarn | factor | length
    yield yarn | factor | length | {"attn_factor": ["f32", 0.7]}
    yield yarn | factor | length | {"yarn_beta_fast": ["f32", 4.0], "yarn_beta_slow": ["f32", 0.5]}
    for name in ("yarn_ext_factor", "yarn_attn_factor"):  # which llama.cpp reads of Grok alone
        yield yarn | factor | length | {name: ["f32", 0.5]}
        yield yarn | factor | length | {name: ["f32", 1.0]}
    yield yarn | factor | length | {"yarn_log_multiplier": ["f32", 0.1]}
    yield yarn | {"factor": ["f32", 0.5]} | length
    yield yarn | length


# ---- What llama.cpp computes (github.com/ggml-org/llama.cpp: src/llama-model.cpp, src/llama-context.cpp, and
# ggml/src/ggml-cpu/ops.cpp for rope) ----

class Settings:
    def __init__(self, metadata):
        self.metadata = metadata
        self.architecture = self.metadata.get("general.architecture", ["string", None])[1]
        if self.architecture not in ARCHITECTURES:
            raise oracle.Refused("unknown architecture")
        for key in REQUIRED[1:]:
            if self(key) is None:
                raise oracle.Refused(f"key not found: {key}")

    def __call__(self, key, otherwise=None, kind=None):
        found = self.metadata.get(f"{self.architecture}.{key}")
        if found is None:
            return otherwise
        wanted = "f32" if "eps" in key or "freq" in key or "factor" in key or "beta" in key or "linear" in key else "u32"
        if found[0] != ("string" if key.endswith("type") else wanted):
            raise oracle.Refused(f"key {key} has wrong type {found[0]}")
        return found[1]


def logits(metadata, tensors, ids):
    s, unread = Settings(metadata), dict(tensors)
    width, heads = s("embedding_length"), s("attention.head_count")
    kv_heads = s("attention.head_count_kv", heads)
    if not heads or not kv_heads or heads % kv_heads:
        raise oracle.Refused("heads")
    channels, values = s("attention.key_length", width // heads), s("attention.value_length", width // heads)
    turned, vocabulary = s("rope.dimension_count", channels), s("vocab_size", len(tensors.get("token_embd.weight", ())))
    if turned != channels:
        raise oracle.Refused("invalid n_rot")

    def tensor(name, *shape, required=True):
        if name not in unread and not required:
            return None
        if name not in unread or list(unread[name].shape) != list(shape):
            raise oracle.Refused(f"tensor {name} is missing or has a wrong shape")
        return unread.pop(name)

    eps = s("attention.layer_norm_rms_epsilon")
    norm = lambda x, weight: x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight
    table = tensor("token_embd.weight", vocabulary, width)
    divisors = tensor("rope_freqs.weight", turned // 2, required=False) if s.architecture == "llama" else None
    angles, magnitude = rotary(s, turned, divisors, ids.shape[1])
    turn = lambda x: rotated(x, angles, magnitude, s.architecture == "llama")
    x = table[ids]
    for i in range(s("block_count")):
        get = lambda name, *shape, **more: tensor(f"blk.{i}.{name}", *shape, **more)
        h = norm(x, get("attn_norm.weight", width))
        sizes = [heads * channels, kv_heads * channels, kv_heads * values]
        weight, bias = get("attn_qkv.weight", sum(sizes), width, required=False), None
        if weight is not None:
            weights, bias = weight.split(sizes), get("attn_qkv.bias", sum(sizes), required=False)
        else:
            weights = [get(f"attn_{n}.weight", size, width) for n, size in zip("qkv", sizes)]
        if bias is not None:
            biases = bias.split(sizes)
        else:
            biases = [get(f"attn_{n}.bias", size, required=False) for n, size in zip("qkv", sizes)]
        q, k, v = (split(h, *tensors, count) for *tensors, count in zip(weights, biases, (heads, kv_heads, kv_heads)))
        if s.architecture == "qwen3":
            q, k = norm(q, get("attn_q_norm.weight", channels)), norm(k, get("attn_k_norm.weight", channels))
        q, k = turn(q), turn(k).repeat_interleave(heads // kv_heads, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(channels)
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf).softmax(-1)
        h = (scores @ v.repeat_interleave(heads // kv_heads, 1)).transpose(1, 2).flatten(2)
        x = x + linear(h, get("attn_output.weight", width, heads * values), get(
            "attn_output.bias", width, required=False))
        h, hidden = norm(x, get("ffn_norm.weight", width)), s("feed_forward_length")
        gate, up = (linear(h, get(f"ffn_{n}.weight", hidden, width), get(f"ffn_{n}.bias", hidden, required=False))
                    for n in ("gate", "up"))
        x = x + (torch.nn.functional.silu(gate) * up) @ get("ffn_down.weight", width, hidden).T
    x = norm(x, tensor("output_norm.weight", width))
    head = tensor("output.weight", vocabulary, width, required=False)
    if unread:
        raise oracle.Refused("wrong number of tensors")
    return x @ (table if head is None else head).T


def linear(x, weight, bias):
    return x @ weight.T + (0 if bias is None else bias)


def split(x, weight, bias, heads):
    return linear(x, weight, bias).unflatten(-1, (heads, -1)).transpose(1, 2)


def rotary(s, turned, divisors, length):
    """Angles (length, turned / 2), and the factor on the rotated channels."""
    kind, base = s("rope.scaling.type", "linear"), s("rope.freq_base", 10000.0)
    if kind not in ("none", "linear", "yarn"):  # longrope takes tensors that no such model has
        raise oracle.Refused("rope scaling type")
    factor = s("rope.scaling.factor", s("rope.scale_linear", 0.0)) or 1.0
    factor = 1.0 if kind == "none" else factor
    frequency = base ** (-torch.arange(0, turned, 2, dtype=torch.float64) / turned)
    scaled, magnitude = frequency / factor, s("rope.scaling.attn_factor", 1.0)
    if f"{s.architecture}.rope.scaling.yarn_log_multiplier" in s.metadata:
        raise oracle.Refused("yarn_log_multiplier is not written here")
    if kind == "yarn":
        trained = s("rope.scaling.original_context_length", s("context_length"))
        pair = lambda turns: turned * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))
        low = max(0, math.floor(pair(s("rope.scaling.yarn_beta_fast", 32.0))))
        high = min(turned - 1, math.ceil(pair(s("rope.scaling.yarn_beta_slow", 1.0))))
        ramp = 1 - ((torch.arange(turned // 2) - low) / max(0.001, high - low)).clamp(0, 1)
        scaled = scaled * (1 - ramp) + frequency * ramp
        magnitude *= 0.1 * math.log(factor) + 1 if factor > 1 else 1
    if divisors is not None:
        scaled = scaled / divisors
    return torch.arange(length, dtype=torch.float64)[:, None] * scaled, magnitude


def rotated(x, angles, magnitude, interleaved):
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pairs = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return magnitude * (torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1))


# ---- Verdicts ----

class Oracle:
    def __init__(self, base):
        self.base = base

    def verdict(self, change):
        metadata, tensors = changed(self.base, change)
        values = {name: models.tensor(name, kind).to(torch.float64) for name, kind in tensors.items()}
        try:
            with torch.no_grad():
                out = logits(metadata, values, models.ids("ids", oracle.BATCH, oracle.LENGTH))
            found = {"logits": oracle.digest(out.reshape(-1))}
        except Exception as error:
            return {"refused": f"{type(error).__name__}: {error}"[:90]}
        if self.contradicts_transformers(change, found):
            raise SystemExit(f"{self.base.name}: {change}: transformers computes something else")
        return found

    def with_transformers(self, change):
        """What transformers computes from the same file."""
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            write(pathlib.Path(folder) / "model.gguf", *changed(self.base, change))
            head = {"head_dim": CHANNELS} if self.base.family == "qwen3" else {}  # which transformers does not read there
            try:
                model = transformers.AutoModelForCausalLM.from_pretrained(
                    folder, gguf_file="model.gguf", dtype=torch.float32, attn_implementation="eager", **head)
                out = model.eval()(input_ids=models.ids("ids", oracle.BATCH, oracle.LENGTH)).logits
                return {"logits": oracle.digest(out.reshape(-1))}
            except Exception as error:
                return {"refused": f"{type(error).__name__}: {error}"[:90]}

    def contradicts_transformers(self, change, verdict):
        """Whether both compute numbers, not the same ones, and transformers reads what the change touches."""
        names = [*change.get("set", {}), *change.get("drop", []), *change.get("tensors", {})]
        if "refused" in verdict or any(unread in name for name in names for unread in UNREAD):
            return False
        theirs = self.with_transformers(change)
        return "refused" not in theirs and not oracle.close(verdict, theirs)


def changed(base, change):
    metadata, tensors = oracle.changed(base, change | {"tensors": {}})
    tensors = copy.deepcopy(tensors)
    for name, shape in change.get("tensors", {}).items():
        if shape is None:
            del tensors[name]
        else:
            tensors[name] = [shape] + tensors[name][1:] if name in tensors else kind_of(name, shape)
    return metadata, tensors
