"""Builds the graphs of model.json from the layers of a module."""

import math

from .state import Refused, flag

ATTENTION_PARTS = ("query", "key", "value")


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
