"""Made by tools/golden.py: pooling of each sequence separately, with PyTorch's tensor operations."""

import torch
from golden import random, write

B, T, C = 4, 6, 10
x, lengths = random(B, T, C), torch.tensor([T, 1, 0, 4])
KINDS = {"mean": lambda rows: rows.mean(0), "first": lambda rows: rows[0], "last": lambda rows: rows[-1],
         "max": lambda rows: rows.amax(0)}


def pooled(kind, lengths=(T,) * B):
    return torch.stack([KINDS[kind](rows[:n]) if n else torch.zeros(C).double() for rows, n in zip(x, lengths)])


for kind in KINDS:
    write(__file__, kind, {"kind": kind}, {"x": x}, {"y": pooled(kind)})
    write(__file__, f"{kind}_lengths", {"kind": kind}, {"x": x, "lengths": lengths}, {"y": pooled(kind, lengths)})

normalized = torch.nn.functional.normalize(pooled("mean", lengths), dim=-1)
write(__file__, "normalized", {"normalize": True}, {"x": x, "lengths": lengths}, {"y": normalized})
write(__file__, "sequence_first", {"batch_first": False}, {"x": x.transpose(0, 1), "lengths": lengths},
      {"y": pooled("mean", lengths)})
