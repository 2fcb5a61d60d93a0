"""Values, and the blocks that the package gguf makes of them, for ../golden_test.cpp.

    pip install gguf safetensors
    python3 make.py
"""

import pathlib

import gguf
import numpy as np
from gguf import quants
from safetensors.numpy import save_file

random = np.random.default_rng(20170612)
values = random.standard_normal((8, 256)).astype(np.float32)
values[1] *= np.float32(1e-5)  # scales that are subnormal as f16
values[2] *= np.float32(1e-9)  # scales that round to 0
values[3] = 0
values[4] = np.arange(256, dtype=np.float32) / 2  # halfway between two bytes where the largest is 127
values[4, ::32] = 127
values[5] *= np.float32(1e4)
values[6, 7] = -300

tensors, notes = {"values": values}, {}


def add(kind, blocks):
    """Blocks of the rows of values, and the values that they are widened to."""
    by_codebook = kind.name[:3] in ("IQ1", "IQ2", "IQ3") or kind.name[0] == "T"
    name = kind.name if by_codebook else kind.name.lower()
    if not by_codebook:
        notes[name + ".dtype"] = name
    tensors[name] = blocks.reshape(len(blocks), -1, gguf.GGML_QUANT_SIZES[kind][1])
    tensors[name + ".widened"] = quants.dequantize(blocks, kind)


Kind = gguf.GGMLQuantizationType
for kind in (Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1):
    add(kind, quants.quantize(values, kind))
# The package cannot quantize to these. Any bytes are valid blocks if their scales are finite.
for kind, scales in (
    (Kind.Q4_K, (0, 2)),
    (Kind.Q5_K, (0, 2)),
    (Kind.Q6_K, (208,)),
    (Kind.Q2_K, (80, 82)),
    (Kind.Q3_K, (108,)),
    (Kind.IQ4_NL, (0,)),
    (Kind.IQ4_XS, (0,)),
    (Kind.IQ3_XXS, (0,)),
    (Kind.IQ3_S, (0,)),
    (Kind.IQ2_XXS, (0,)),
    (Kind.IQ2_XS, (0,)),
    (Kind.IQ2_S, (0,)),
    (Kind.IQ1_S, (0,)),
    (Kind.TQ1_0, (52,)),
    (Kind.TQ2_0, (64,)),
    (Kind.IQ1_M, ()),
):
    blocks = random.integers(0, 256, (8, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at in scales:
        halves = (random.standard_normal(len(blocks)) * 0.01).astype(np.float16)
        halves[:4] = np.array([0, -0.0, 6e-8, 60000], dtype=np.float16)
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(-1, 2)
    if kind == Kind.IQ1_M:  # the upper bits of four words are its scale
        blocks[:, 55] &= 0xBF
    add(kind, blocks)
save_file(tensors, pathlib.Path(__file__).parent / "blocks.safetensors", notes)
