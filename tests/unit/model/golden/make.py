"""Values and the blocks that GGUF's own package makes of them: golden_test.cpp beside this folder holds Lamina's to these.

    pip install gguf safetensors
    python3 make.py
"""

import pathlib

import gguf
import numpy as np
from gguf import quants
from safetensors.numpy import save_file

random = np.random.default_rng(20170612)
values = random.standard_normal((8, 96)).astype(np.float32)
values[1] *= np.float32(1e-5)  # scales that are subnormal as f16
values[2] *= np.float32(1e-9)  # and such as are 0 then
values[3] = 0
values[4] = np.arange(96, dtype=np.float32) / 2  # halfway between two bytes where the largest is 127
values[4, ::32] = 127
values[5] *= np.float32(1e6)
values[6, 7] = -300

tensors = {"values": values}
for kind in (gguf.GGMLQuantizationType.Q8_0,):
    name = kind.name.lower()
    blocks = quants.quantize(values, kind)
    count, size = gguf.GGML_QUANT_SIZES[kind]
    tensors[name] = blocks.reshape(len(values), -1, size)
    tensors[name + ".widened"] = quants.dequantize(blocks, kind)
save_file(tensors, pathlib.Path(__file__).parent / "blocks.safetensors", {"q8_0.dtype": "q8_0"})
