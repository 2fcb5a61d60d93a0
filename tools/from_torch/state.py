"""The state dict of a module, and what is said when it cannot be converted."""

import difflib
import re

try:
    import torch
    import numpy  # noqa: F401: PyTorch's tensors give their bytes through it
    missing = None
except ImportError as error:  # the command reports it; --help works without
    torch, missing = None, error


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
            near = difflib.get_close_matches(name, self.tensors, 1)
            meant = f"did you mean '{near[0]}'?" if near else f"it has {self.keys()}"
            raise Refused(f"the state dict has no '{name}'; {meant}")
        tensor = self.tensors[name]
        if tensor.dim() != rank:
            raise Refused(f"'{name}' is {tuple(tensor.shape)}; expected {rank} axes")
        self.left.discard(name)
        return tensor

    def keys(self):
        """Its keys for a message: those outside of numbered layers first, because options name them."""
        return some(sorted(self.tensors, key=lambda name: (bool(re.search(r"\.\d+\.", name)), name)))

    def prefixes(self):
        """Where the keys of a module begin that can be converted: "" or "transformer.", for example."""
        first = "layers.0.self_attn.in_proj_weight"
        found = {name[:-len(first)] for name in self.tensors if name.endswith(first)}
        whole = {base[:-len("encoder.")] for base in found
                 if base.endswith("encoder.") and base[:-len("encoder.")] + "decoder." in found}
        parts = {base + part for base in whole for part in ("encoder.", "decoder.")}
        return sorted(found - parts | whole)

    def layers(self, prefix):
        """The number of layers PREFIX0, PREFIX1, ..."""
        found = {int(m[1]) for m in (re.match(re.escape(prefix) + r"(\d+)\.", name) for name in self.tensors) if m}
        if found != set(range(len(found))):
            raise Refused(f"'{prefix}N' are numbered {sorted(found)}; expected 0 to {len(found) - 1}")
        return len(found)


def flag(option):
    return "--" + option.replace("_", "-")


def some(names):
    """The first of these names, and how many more there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
