"""Made by tools/golden.py: pooling of each sequence separately, with PyTorch's tensor operations."""

import torch
from golden import random, write

B, T, C = 4, 6, 10
x, lengths = random(B, T, C), torch.tensor([T, 1, 0, 4])
KINDS = {"mean": lambda rows, t: rows.mean(0), "first": lambda rows, t: rows[0], "last": lambda rows, t: rows[-1],
         "max": lambda rows, t: rows.amax(0), "mean_sqrt_len": lambda rows, t: rows.sum(0) / len(rows) ** 0.5,
         "weighted_mean": lambda rows, t: torch.sum((t + 1)[:, None] * rows, 0) / torch.sum(t + 1)}


def pooled(kind, lengths=(T,) * B, starts=(0,) * B):
    return torch.stack([KINDS[kind](rows[i:n], torch.arange(i, n)) if i < n else torch.zeros(C).double()
                        for rows, n, i in zip(x, lengths, starts)])


for kind in KINDS:
    write(__file__, kind, {"kind": kind}, {"x": x}, {"y": pooled(kind)})
    write(__file__, f"{kind}_lengths", {"kind": kind}, {"x": x, "lengths": lengths}, {"y": pooled(kind, lengths)})

normalized = torch.nn.functional.normalize(pooled("mean", lengths), dim=-1)
write(__file__, "normalized", {"normalize": True}, {"x": x, "lengths": lengths}, {"y": normalized})
write(__file__, "sequence_first", {"batch_first": False}, {"x": x.transpose(0, 1), "lengths": lengths},
      {"y": pooled("mean", lengths)})

lengths, starts = torch.tensor([T, 5, 2, 4]), torch.tensor([2, 0, 2, 3])
for kind in KINDS:
    write(__file__, f"{kind}_starts", {"kind": kind}, {"x": x, "lengths": lengths, "starts": starts},
          {"y": pooled(kind, lengths, starts)})

for kind in KINDS:
    later = torch.maximum(starts, torch.tensor(2))
    write(__file__, f"{kind}_skip", {"kind": kind, "skip": 2}, {"x": x, "lengths": lengths, "starts": starts},
          {"y": pooled(kind, lengths, later)})
