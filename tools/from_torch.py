#!/usr/bin/env python3
"""Converts a trained nn.TransformerEncoder, nn.TransformerDecoder or nn.Transformer into a Lamina model folder.

    torch.save(model.state_dict(), "model.pt")                            # in your program
    tools/from_torch.py model.pt models/mine --heads 8 --norm-first       # here

The state dict shows which module it is, its sizes, and whether it has biases and final norms. The other arguments of
the module must be given: --heads, --norm-first, --activation, --eps. With --source-embedding and --target-embedding the
graphs take token ids instead of vectors; with --generator they give log probabilities; with --target-vocab the model
generates text. See docs/from_pytorch.md.

This file needs Python 3.9 and PyTorch with NumPy (Debian: python3-torch), and no other file of Lamina.
"""

import argparse
import fnmatch
import json
import math
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile

try:
    import torch
    import numpy  # noqa: F401: PyTorch's tensors give their bytes through it
except ImportError as error:  # main() reports it; --help works without
    torch, missing = None, error

ATTENTION_PARTS = ("query", "key", "value")
DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int32": "I32"}  # PyTorch's, safetensors'
LONGEST_GENERATION = 100000  # tokens, as model.json allows
MOST_POSITIONS = 1 << 31


class Refused(Exception):
    """The state dict cannot be converted with these options. The message says why and what to do."""


class State:
    """A state dict that remembers which tensors were used, because a tensor left over would be missing silently."""

    def __init__(self, tensors):
        self.tensors, self.left = tensors, set(tensors)

    def has(self, name):
        return name in self.tensors

    def take(self, name, rank):
        if name not in self.tensors:
            raise Refused(f"the state dict has no '{name}'; it has {', '.join(sorted(self.tensors)[:8])}, ...")
        tensor = self.tensors[name]
        if tensor.dim() != rank:
            raise Refused(f"'{name}' is {tuple(tensor.shape)}; expected {rank} axes")
        self.left.discard(name)
        return tensor

    def layers(self, prefix):
        """The number of layers PREFIX0, PREFIX1, ..."""
        found = {int(m[1]) for m in (re.match(re.escape(prefix) + r"(\d+)\.", name) for name in self.tensors) if m}
        if found != set(range(len(found))):
            raise Refused(f"'{prefix}N' are numbered {sorted(found)}; expected 0 to {len(found) - 1}")
        return len(found)


class Graph:
    """Builds one graph of model.json, and the weights that it needs."""

    def __init__(self, state, options):
        self.state, self.options = state, options
        self.inputs, self.layers, self.weights = {}, [], {}

    def json(self, outputs):
        return {"inputs": self.inputs, "layers": self.layers, "outputs": outputs}

    def input(self, name, dtype, dims):
        self.inputs[name] = {"dtype": dtype, "dims": dims}
        return name

    def tokens(self, time):
        """Dims of ids: "B T" or "T B"."""
        return f"{time} B" if self.options.sequence_first else f"B {time}"

    def mask(self, kind, keys, time, keep, dims):
        """The input that says which keys may be attended to, with the port that takes it: {PORT: INPUT}, or nothing."""
        if kind == "none":
            return {}
        if kind == "lengths":
            return {"key_lengths": self.input(f"{keys}_lengths", "i32", "B")}
        if kind == "keys":
            return {"key_mask": self.input(f"{keys}_mask", "i32", f"B {time}")}
        return {"keep_mask": self.input(keep, "i32", dims)}

    def weight(self, name, key, rank):
        self.weights[name] = self.state.take(key, rank)

    def linear(self, name, key):
        """A Linear's weight and its bias, if any: as NAME_weight and NAME_bias, or NAME.weight and NAME.bias."""
        self.weight(name + "weight", key + "weight", 2)
        if self.state.has(key + "bias"):
            self.weight(name + "bias", key + "bias", 1)

    def positions(self, name, key, d_model):
        """A learned table, which may have an axis of 1 for the batch: (1, max_len, C). Returns its rows."""
        table = self.state.tensors.get(key)
        if table is not None and table.dim() == 3 and 1 in table.shape[:2]:
            self.state.left.discard(key)
            self.weights[name] = table.squeeze(0 if table.shape[0] == 1 else 1)
        else:
            self.weight(name, key, 2)
        rows, width = self.weights[name].shape
        if width != d_model:
            raise Refused(f"--positions {key} is {tuple(table.shape)}; expected rows of d_model, which is {d_model}")
        return rows

    # ---- Blocks ----

    def embedding(self, prefix, option, ids, position, d_model):
        options = self.options
        key = getattr(options, option)
        self.weight(f"{prefix}.embedding.table", key, 2)
        found = tuple(self.state.tensors[key].shape)
        if found[1] != d_model:
            raise Refused(f"{flag(option)} {key} is {found}; expected rows of d_model, which is {d_model}")
        scale = math.sqrt(d_model) if options.embedding_scale is None else options.embedding_scale
        self.layers.append({"name": f"{prefix}.embedding", "type": "embedding", "inputs": {"ids": ids},
                            "params": {"scale": scale}})
        if options.positions != "none":
            if options.positions == "sinusoids" and d_model % 2 != 0:
                raise Refused(f"d_model is {d_model}; sinusoids need an even one: name a learned table with "
                              "--positions, or none")
            params = {"max_len": options.max_len or 5000}
            if options.positions != "sinusoids":
                params = {"max_len": self.positions(f"{prefix}.positions.table", options.positions, d_model)}
            if options.sequence_first:
                params["batch_first"] = False
            offset = {"inputs": {"offset": position}} if position else {}
            self.layers.append({"name": f"{prefix}.positions", "type": "positional_encoding", **offset,
                                "params": params})
        self.layers[-1]["as"] = "x"
        return "x"

    def stack(self, prefix, key, x, attention, source):
        """The layers KEY.layers.N and the norm after them, if any. Returns their output."""
        count = self.state.layers(f"{key}layers.")
        copies = [self.layer(f"{prefix}.{i}", f"{key}layers.{i}.", x if i == 0 else "x", attention, source)
                  for i in range(count)]
        if x == "x":
            pattern = self.layer(f"{prefix}.{{i}}", None, "x", attention, source)
            self.layers.append({"repeat": count, "layers": pattern})
        else:
            self.layers.extend(entry for copy in copies for entry in copy)
        if not self.state.has(f"{key}norm.weight"):
            return "x"
        self.layers.append(self.norm(f"{prefix}.norm", f"{key}norm.", "x"))
        return f"{prefix}.norm"

    def layer(self, prefix, key, x, attention, source):
        """The entries of one layer. Its weights are taken if there is a key. `attention` and `source` are the inputs
        and parameters of the attention to itself and to a source. Without a source, `source` is None."""
        entries, number = [], 1

        def enter(name):
            """The tensor that a sublayer reads."""
            if not self.options.norm_first:
                return x
            entries.append(self.norm(f"{prefix}.norm_{name}", f"{key}norm{number}." if key else None, x))
            return f"{prefix}.norm_{name}"

        def leave(name, last):
            """Adds a sublayer's last entry, which takes the residual."""
            nonlocal x, number
            entries.append({**last, "inputs": {**last.get("inputs", {}), "residual": x}, "as": "x"})
            if not self.options.norm_first:
                norm = self.norm(f"{prefix}.norm_{name}", f"{key}norm{number}." if key else None, "x")
                entries.append({**norm, "as": "x"})
            x, number = "x", number + 1

        def project(name, tokens):
            entries.append({"name": name, "type": "linear", **first_input(entries, "x", tokens)})

        def attend(name, keys, inputs):
            """MultiHeadAttention: projections, the heads, the output projection. If `keys` is None, the keys are the
            tokens' own; if it names a memory, they are projected from it; if it is "", they are graph inputs."""
            tokens, whole = enter(name), f"{prefix}.{name}"
            project(f"{whole}.query", tokens)
            if keys != "":
                project(f"{whole}.key", keys or tokens)
                project(f"{whole}.value", keys or tokens)
            query = first_input(entries, "q", f"{whole}.query").get("inputs", {})
            ports = {**query, "k": f"{whole}.key", "v": f"{whole}.value", **inputs}
            params = {"heads": self.options.heads}
            if self.options.sequence_first:
                params["batch_first"] = False
            if ports.pop("causal", False):
                params["causal"] = True
            entries.append({"name": f"{whole}.heads", "type": "attention", "inputs": ports, "params": params})
            leave(name, {"name": f"{whole}.out", "type": "linear"})

        attend("attention", None, attention)
        if source is not None:
            attend("source_attention", source["memory"], source["mask"])
        tokens = enter("feed_forward")
        leave("feed_forward", {"name": f"{prefix}.feed_forward", "type": "feed_forward",
                               **first_input(entries, "x", tokens), "params": {"activation": self.options.activation}})
        if key:
            self.attention_weights(f"{prefix}.attention", f"{key}self_attn.", ATTENTION_PARTS)
            if source is not None:
                parts = ATTENTION_PARTS if source["memory"] else ("query",)
                self.attention_weights(f"{prefix}.source_attention", f"{key}multihead_attn.", parts)
            self.linear(f"{prefix}.feed_forward.up_", f"{key}linear1.")
            self.linear(f"{prefix}.feed_forward.down_", f"{key}linear2.")
        return entries

    def source_projections(self, key, memory):
        """The keys and values that the layers of the decoder at KEY attend to, computed here once per source."""
        count = self.state.layers(f"{key}layers.")
        entries = [{"name": f"decoder.{{i}}.source_attention.{part}", "type": "linear", "inputs": {"x": memory}}
                   for part in ("key", "value")]
        self.layers.append({"repeat": count, "layers": entries})
        for i in range(count):
            self.projection_weights(f"decoder.{i}.source_attention", f"{key}layers.{i}.multihead_attn.",
                                    ("key", "value"))
        return {name: name for name in source_tensors(count)}

    def norm(self, name, key, x):
        if key:
            self.weight(f"{name}.weight", f"{key}weight", 1)
            if self.state.has(f"{key}bias"):
                self.weight(f"{name}.bias", f"{key}bias", 1)
        entry = {"name": name, "type": "layer_norm", "inputs": {"x": x}}
        return entry if self.options.eps == 1e-5 else {**entry, "params": {"eps": self.options.eps}}

    def attention_weights(self, name, key, parts):
        self.projection_weights(name, key, parts)
        self.linear(f"{name}.out.", f"{key}out_proj.")

    def projection_weights(self, name, key, parts):
        """The weights of these parts. MultiheadAttention keeps the three projections in one tensor, query first."""
        projections = self.state.take(f"{key}in_proj_weight", 2)
        d_model, heads = projections.shape[1], self.options.heads
        if d_model % heads != 0:
            raise Refused(f"--heads {heads}: expected a divisor of d_model, which is {d_model}")
        tensors = {"weight": projections}
        if self.state.has(f"{key}in_proj_bias"):
            tensors["bias"] = self.state.take(f"{key}in_proj_bias", 1)
        for kind, tensor in tensors.items():
            for part, rows in zip(ATTENTION_PARTS, tensor.chunk(3)):
                if part in parts:
                    self.weights[f"{name}.{part}.{kind}"] = rows

    def generator(self, key, x, d_model):
        self.linear("generator.", f"{key}.")
        found = tuple(self.weights["generator.weight"].shape)
        if found[1] != d_model:
            raise Refused(f"--generator {key} is {found}; expected rows of d_model, which is {d_model}")
        self.layers += [{"name": "generator", "type": "linear", "inputs": {"x": x}},
                        {"name": "generator.log_softmax", "type": "log_softmax"}]
        return {"log_probabilities": "generator.log_softmax"}


def first_input(entries, port, tensor):
    """A layer's first input. It need not be written if it is the output of the layer before."""
    said = not entries or entries[-1]["name"] != tensor
    return {"inputs": {port: tensor}} if said else {}


def source_tensors(layers):
    """The outputs of encode that decode takes, besides the source's lengths or mask."""
    return [f"decoder.{i}.source_attention.{part}" for i in range(layers) for part in ("key", "value")]


# ---- Models ----


def encode_graph(state, options, key, decoder=None):
    """The graph of an encoder whose keys begin with `key`, for a `decoder` whose layers attend to its output."""
    graph = Graph(state, options)
    width = state.take(f"{key}layers.0.linear1.weight", 2).shape[1]
    dims = graph.tokens("S") if options.source_embedding else f"{graph.tokens('S')} {width}"
    source = graph.input("source", "i32" if options.source_embedding else "f32", dims)
    attention = graph.mask(options.mask, "source", "S", "source_mask", "B S S")
    if options.causal_encoder:
        attention["causal"] = True
    x = source
    if options.source_embedding:
        x = graph.embedding("encoder", "source_embedding", source, None, width)
    memory = graph.stack("encoder", key, x, attention, None)
    outputs = {"memory": memory}
    if decoder:
        outputs |= graph.source_projections(decoder, memory)
    if options.generator and options.module == "nn.TransformerEncoder":
        outputs |= graph.generator(options.generator, memory, width)
    return graph.json(outputs), graph.weights


def decode_graph(state, options, key):
    """The graph of a decoder whose keys begin with `key`. A language model has no source."""
    alone = options.module == "nn.TransformerEncoder"  # a language model
    embedding = "source_embedding" if alone else "target_embedding"
    graph = Graph(state, options)
    width = state.take(f"{key}layers.0.linear1.weight", 2).shape[1]
    takes_ids = getattr(options, embedding) is not None
    dims = graph.tokens("T") if takes_ids else f"{graph.tokens('T')} {width}"
    target = graph.input("target", "i32" if takes_ids else "f32", dims)
    source = None
    if not alone:
        whole = options.module == "nn.Transformer"  # its encoder gives the keys and values of the memory
        source = {"memory": "" if whole else "memory"}
        for name in source_tensors(state.layers(f"{key}layers.")) if whole else ["memory"]:
            graph.input(name, "f32", f"{graph.tokens('S')} {width}")
        source["mask"] = graph.mask(options.mask, "source", "S", "memory_mask", "B T S")
    # Padding after a causal sequence does not affect the tokens before it, so lengths are not needed.
    idle = options.mask == "lengths" or (options.mask == "keys" and not alone)
    attention = graph.mask("none" if idle else options.mask, "target", "T", "target_mask", "B T T")
    position = None
    if takes_ids and not attention:  # keys of earlier steps cannot be masked
        position = graph.input("position", "i32", "B")
        attention["position"] = position
    if not options.not_causal:
        attention["causal"] = True
    x = graph.embedding("decoder", embedding, target, position, width) if takes_ids else target
    decoded = graph.stack("decoder", key, x, attention, source)
    outputs = graph.generator(options.generator, decoded, width) if options.generator else {"decoded": decoded}
    return graph.json(outputs), graph.weights


def module_of(state, prefix):
    """The module that the keys after `prefix` belong to."""
    if state.layers(f"{prefix}encoder.layers.") > 0 and state.layers(f"{prefix}decoder.layers.") > 0:
        return "nn.Transformer"
    if state.layers(f"{prefix}layers.") == 0:
        if not any(name.startswith(prefix) for name in state.tensors):
            raise Refused(f"no tensor begins with '{prefix}'; --prefix is the beginning of the module's keys: the "
                          f"state dict has {', '.join(sorted(state.tensors)[:8])}, ...")
        raise Refused(f"no '{prefix}layers.0.' and no '{prefix}encoder.layers.0.' with '{prefix}decoder.layers.0.' in "
                      "the state dict: is it that of an nn.TransformerEncoder, nn.TransformerDecoder or "
                      "nn.Transformer? --prefix takes a part of a model, its last dot included")
    source = state.has(f"{prefix}layers.0.multihead_attn.in_proj_weight")
    return "nn.TransformerDecoder" if source else "nn.TransformerEncoder"


def flag(option):
    return "--" + option.replace("_", "-")


def check_idle(options):
    """Refuses options that would have no effect."""
    module = options.module

    def refuse(option, why):
        if getattr(options, option) not in (None, False):
            raise Refused(f"{flag(option)} {why}")

    if module == "nn.TransformerEncoder":
        refuse("target_embedding", "needs a decoder, and this is an nn.TransformerEncoder: --source-embedding "
                                   "names its embedding, and --causal-encoder makes it a language model")
        refuse("not_causal", "needs a decoder, and this is an nn.TransformerEncoder: it is causal only "
                             "with --causal-encoder")
    if module == "nn.TransformerDecoder":
        refuse("source_embedding", "needs an encoder, and this is an nn.TransformerDecoder: --target-embedding "
                                   "names its embedding")
        refuse("causal_encoder", "needs an encoder, and this is an nn.TransformerDecoder: it is causal already")
    embeds = options.source_embedding or options.target_embedding
    for option in ("embedding_scale", "max_len"):
        if not embeds:
            refuse(option, "needs --source-embedding or --target-embedding: vectors are used unchanged")
    if not embeds and options.positions != "sinusoids":
        raise Refused(f"--positions {options.positions} needs --source-embedding or --target-embedding: vectors "
                      "are used unchanged")
    if options.positions != "sinusoids":
        refuse("max_len", f"needs sinusoids, and --positions is {options.positions}")
    if not options.target_vocab:
        for option in ("source_vocab", "split", "start", "end", "max_length"):
            refuse(option, "needs --target-vocab FILE: without it no text is generated")


def check_left(state, options):
    """Checks that every tensor was used, is outside of the converted module, or is ignored by name."""
    ignored, options.outside = set(), []
    for pattern in options.ignore:
        matched = set(fnmatch.filter(state.left, pattern))
        if not matched:
            raise Refused(f"--ignore {pattern}: no tensor that is left over matches it; leave the option out")
        ignored |= matched
    left = sorted(state.left - ignored)
    # With only --prefix, one module is converted as a model on vectors. If options name the parts around it, the whole
    # model is converted.
    parts = (options.source_embedding, options.target_embedding, options.generator)
    if not any(parts):
        outside = [name for name in left if not name.startswith(options.prefix)]
        left = [name for name in left if name.startswith(options.prefix)]
        options.outside = outside
    if left:
        raise Refused(f"left over: {some(left)}; name embeddings, --positions and the --generator, take one module "
                      "with --prefix alone, or leave out with --ignore NAME what the model does not compute with")


def some(names):
    """The first of these names, and how many more there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def convert(tensors, options):
    """The model.json (as a dictionary) and the weights of a state dict. Throws Refused."""
    state = State({name: tensor.detach() for name, tensor in tensors.items()})
    if not state.tensors:
        raise Refused("the state dict is empty")
    prefix = options.prefix
    options.module = module = module_of(state, prefix)
    check_idle(options)
    graphs, weights, whole = {}, {}, module == "nn.Transformer"
    language_model = module == "nn.TransformerEncoder" and options.causal_encoder
    if module != "nn.TransformerDecoder" and not language_model:
        graphs["encode"], more = (encode_graph(state, options, f"{prefix}encoder.", f"{prefix}decoder.") if whole
                                  else encode_graph(state, options, prefix))
        weights |= more
    if module != "nn.TransformerEncoder" or language_model:
        graphs["decode"], more = decode_graph(state, options, f"{prefix}decoder." if whole else prefix)
        weights |= more
    check_left(state, options)
    norm = "pre" if options.norm_first else "post"
    called = f"{module} with a causal mask" if language_model else module
    model = {"format": "lamina/1", "name": options.name, "summary": f"From PyTorch's {called}, {norm}-norm",
             "graphs": graphs}
    if options.target_vocab:
        model["generation"] = generation(graphs, weights, options)
    return model, {name: stored(tensor, options.dtype) for name, tensor in weights.items()}


def stored(tensor, dtype):
    """Matrices in the requested dtype, vectors in float32."""
    return tensor.to(getattr(torch, dtype) if tensor.dim() > 1 else torch.float32).contiguous()


# ---- Text ----


def generation(graphs, weights, options):
    """The "generation" block. Reads the vocabularies and compares their sizes with the weights."""
    def refuse(why):
        raise Refused(f"--target-vocab {options.target_vocab}: generation {why}")

    decode = graphs.get("decode")
    if decode is None:
        refuse("needs a decoder; --causal-encoder makes one of an nn.TransformerEncoder trained with a causal mask")
    if options.module == "nn.TransformerDecoder":
        refuse("needs what gives the decoder its memory; take the whole nn.Transformer")
    whole = "encode" in graphs
    if options.sequence_first:
        refuse("needs sequences as (B, T): leave out --sequence-first")
    if options.not_causal:
        refuse("needs a causal decoder: leave out --not-causal")
    if options.mask != "lengths" and not (options.mask == "none" and not whole):
        refuse(f"needs --mask lengths, found {options.mask}: texts of a batch differ in length")
    for option in ("source_embedding", *(("target_embedding",) if whole else ()), "generator"):
        if getattr(options, option) is None:
            refuse(f"needs {flag(option)}: from ids to log probabilities")

    target = vocabulary("target_vocab", options.target_vocab)
    for part, name in (("the embedding", "decoder.embedding.table"), ("the generator", "generator.weight")):
        if weights[name].shape[0] != len(target):
            refuse(f"needs a line for each of the {weights[name].shape[0]} rows of {part}, found {len(target)} lines")
    start, end = options.start or "<s>", options.end or "</s>"
    for option, token in (("--start", start), ("--end", end)):
        if token not in target:
            raise Refused(f"{option} '{token}' is not in {options.target_vocab}; name a token that is")
    positions = [entry["params"]["max_len"] for entry in decode["layers"] if entry.get("type") == "positional_encoding"]
    most = min([LONGEST_GENERATION, *(count - 1 for count in positions)])  # the start token has a position, too
    length = min(64, most) if options.max_length is None else options.max_length
    if not 1 <= length <= most:
        raise Refused(f"--max-length {length}: expected 1 to {most}; the model has so many positions after the start")
    split = {"split": options.split or "words"}
    block = {"decode": "decode", "target_ids": "target", "position": "position", "logits": "log_probabilities",
             "start": start, "end": end, "max_length": length, "target": {"vocabulary": "target.txt", **split}}
    if not whole:
        if options.source_vocab:
            raise Refused("--source-vocab needs an nn.Transformer: a language model has one vocabulary")
        return block
    if not options.source_vocab:
        refuse("of an nn.Transformer needs --source-vocab FILE, too; it may be the same file")
    source, rows = vocabulary("source_vocab", options.source_vocab), weights["encoder.embedding.table"].shape[0]
    if len(source) != rows:
        raise Refused(f"--source-vocab {options.source_vocab}: expected a line for each of the {rows} rows of the "
                      f"embedding, found {len(source)} lines")
    return {"encode": "encode", "source_ids": "source", "source_lengths": "source_lengths", **block,
            "source": {"vocabulary": "source.txt", **split}}


def vocabulary(option, path):
    """The tokens of a file, one per line, as Lamina reads them."""
    try:
        text = pathlib.Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise Refused(f"{flag(option)} {path}: {reason}; expected a text file with one token per line") from None
    tokens = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    if tokens[-1] == "":
        tokens.pop()  # after the end of the last line
    numbers = {}
    for number, token in enumerate(tokens, 1):
        if token == "":
            raise Refused(f"{flag(option)} {path}: line {number} is empty; expected one token per line")
        if token in numbers:
            raise Refused(f"{flag(option)} {path}: line {number}: '{token}' is already in line {numbers[token]}")
        numbers[token] = number
    return tokens


# ---- Files ----


def read(path, options):
    """The state dict in a file made by torch.save()."""
    try:
        # Without weights_only, a .pt file runs any code that its author put into it.
        content = torch.load(path, map_location="cpu", weights_only=True)
    except TypeError:
        raise Refused(f"PyTorch {torch.__version__} cannot load weights only; 1.13 and newer can") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except Exception as error:  # a pickle may raise anything
        raise Refused(f"{path}: expected a state dict saved by torch.save(), found: {first_line(error)}") from None
    if options.entry:
        if not isinstance(content, dict) or options.entry not in content:
            raise Refused(f"{path}: no entry '{options.entry}'")
        content = content[options.entry]
    if not isinstance(content, dict) or not all(isinstance(name, str) and isinstance(tensor, torch.Tensor)
                                                for name, tensor in content.items()):
        raise Refused(f"{path}: expected a dictionary of tensors; --entry NAME takes one out of a checkpoint")
    return content


def safetensors(tensors, metadata):
    """The bytes of a safetensors file: u64 length of the JSON header, the header, the tensors back to back."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        # NumPy has no bfloat16: its bits are passed as int16.
        bits = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        begin = len(data)
        data += bits.numpy().astype(bits.numpy().dtype.newbyteorder("<")).tobytes()
        dtype = DTYPES[str(tensor.dtype).split(".")[1]]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def readable(value, indent=0):
    """JSON with a line for each layer, as `lamina init` writes it."""
    def one_line(part):
        return json.dumps(part, ensure_ascii=False)

    def item(part, at):
        if isinstance(part, dict) and part and isinstance(list(part.values())[-1], list):
            *first, (last, entries) = part.items()
            start = "".join(f"{one_line(key)}: {one_line(each)}, " for key, each in first)
            return f"{{{start}{one_line(last)}: {readable(entries, at)}}}"
        return one_line(part)

    inner, lines = indent + 2, []
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        start = " " * inner + (f"{one_line(key)}: " if isinstance(value, dict) else "")
        text = item(part, inner) if isinstance(value, list) else one_line(part)
        if isinstance(value, dict) and isinstance(part, (dict, list)) and len(start) + len(text) > 120:
            text = readable(part, inner)
        lines.append(start + text)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(lines) + "\n" + " " * indent + closing


def write(folder, model, weights, texts):
    """Writes a new model folder completely or not at all. `texts`: the files to copy into it, by their names there."""
    folder = pathlib.Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} exists and is not empty; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    workshop = pathlib.Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        os.chmod(workshop, 0o777 & ~umask())
        (workshop / "model.safetensors").write_bytes(safetensors(weights, {"format": "pt"}))
        for name, path in texts.items():
            shutil.copyfile(path, workshop / name)
        (workshop / "model.json").write_text(readable(model) + "\n", encoding="utf-8")
        os.replace(workshop, folder)
    except BaseException:
        shutil.rmtree(workshop, ignore_errors=True)
        raise


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def texts_of(options):
    """The files to copy into the model folder, by their names there."""
    given = {"source.txt": options.source_vocab, "target.txt": options.target_vocab}
    return {name: path for name, path in given.items() if path}


# ---- Arguments ----


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"from_torch.py: error: {message}\n")


def number(kind, least, most):
    """The type of an option that takes a number from `least` to `most`."""
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:  # NaN is neither
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} from {least} to {most}, found '{text}'")
        return value
    return parse


def arguments(argv=None):
    parser = Parser(description=__doc__.splitlines()[0], epilog="docs/from_pytorch.md tells more.", allow_abbrev=False)
    add = parser.add_argument
    add("state", metavar="STATE.pt", help="state dict, saved by torch.save()")
    add("folder", metavar="DIR", help="model folder to write; must be absent or empty")
    add("--heads", type=number(int, 1, 1 << 20), metavar="N", required=True, help="nhead of the module; always needed")
    add("--norm-first", action="store_true", help="the module has norm_first=True")
    add("--sequence-first", action="store_true", help="graphs take (T, B, C), like modules without batch_first=True")
    add("--activation", choices=("relu", "gelu"), default="relu")
    add("--eps", type=number(float, 0, 1), metavar="X", default=1e-5, help="layer_norm_eps; default: 1e-5")
    add("--mask", choices=("lengths", "keys", "keep", "none"), default="lengths",
        help="how padding is given: as lengths, as a 1 or 0 for each key, or for each query and key, or not at all")
    add("--not-causal", action="store_true", help="let the decoder attend to later tokens, too")
    add("--causal-encoder", action="store_true",
        help="the encoder attends to no later tokens; an nn.TransformerEncoder becomes a language model")
    add("--source-embedding", metavar="KEY",
        help="weight of an nn.Embedding; the encoder, or language model, then takes ids")
    add("--target-embedding", metavar="KEY", help="the same for the decoder; may be the same key")
    add("--embedding-scale", type=number(float, -1e30, 1e30), metavar="X",
        help="factor of the embeddings; default: sqrt(d_model)")
    add("--positions", metavar="sinusoids|none|KEY", default="sinusoids",
        help="added to embeddings; KEY: a learned table (max_len, d_model)")
    add("--max-len", type=number(int, 1, MOST_POSITIONS), metavar="N",
        help="number of positions of sinusoids; default: 5000")
    add("--generator", metavar="KEY", help="an nn.Linear after the last layer; log_softmax follows it")
    add("--prefix", default="", metavar="P", help="beginning of the module's keys in a larger model: \"transformer.\"")
    add("--ignore", action="append", default=[], metavar="GLOB",
        help="leave out these tensors, if nothing uses them: \"pos_encoder.pe\"; may be repeated")
    add("--entry", metavar="NAME", help="entry of the checkpoint that holds the state dict: \"state_dict\"")
    add("--dtype", choices=("float32", "float16", "bfloat16"), default="float32", help="dtype of matrices")
    add("--name", help="name of the model; default: the folder's")
    add("--target-vocab", metavar="FILE",
        help="tokens of the decoder, or language model, one per line; the model then generates text")
    add("--source-vocab", metavar="FILE", help="tokens of the encoder; may be the same file")
    add("--split", choices=("words", "characters"), help="how text is split into tokens; default: words")
    add("--start", metavar="TOKEN", help="token that generation begins with; default: <s>")
    add("--end", metavar="TOKEN", help="token that ends generation; default: </s>")
    add("--max-length", type=number(int, 1, LONGEST_GENERATION), metavar="N",
        help="maximum number of tokens to generate; default: 64")
    options = parser.parse_args(argv)
    if options.name is None:
        options.name = pathlib.Path(options.folder).resolve().name
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,256}", options.name):
        parser.error(f"the model's name is '{options.name}'; expected 1 to 256 letters, digits, '_', '-' and '.': "
                     "choose another with --name")
    return options


def failed(why):
    print(f"from_torch.py: error: {first_line(why)}", file=sys.stderr)
    return 2


def main():
    options = arguments()
    try:
        if torch is None:
            raise Refused(f"{sys.executable}: {missing}; install PyTorch and NumPy (Debian: python3-torch), or run "
                          "this by a Python that has them")
        model, weights = convert(read(options.state, options), options)
        write(options.folder, model, weights, texts_of(options))
    except Refused as error:
        return failed(error)
    except OSError as error:
        return failed(f"{error.filename or options.folder}: {error.strerror}")
    if options.outside:
        print(f"converted only '{options.prefix}', which takes vectors; left out: {some(options.outside)}",
              file=sys.stderr)
    count = sum(tensor.numel() for tensor in weights.values())
    print(f"wrote {options.folder}: {count:,} parameters".replace(",", " "), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
