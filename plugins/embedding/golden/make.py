"""Made by tools/golden.py: torch.nn.Embedding, and a sum of two as in BERT."""

import math

import torch
from golden import random, write

ids = torch.tensor([[3, 0, 6], [6, 5, 3]])
for case, dtype, scale in (("plain", torch.float32, 1.0), ("scaled", torch.float32, math.sqrt(10)),
                           ("f16_table", torch.float16, math.sqrt(10)), ("bf16_table", torch.bfloat16, 1.0)):
    table = random(7, 10, dtype=dtype)
    y = torch.nn.Embedding.from_pretrained(table)(ids) * scale
    write(__file__, case, {"scale": scale}, {"ids": ids}, {"y": y}, {"table": table.to(dtype)})

table, residual = random(7, 10), random(2, 3, 10)
y = torch.nn.Embedding.from_pretrained(table)(ids) + residual
write(__file__, "residual", {}, {"ids": ids, "residual": residual}, {"y": y}, {"table": table})
