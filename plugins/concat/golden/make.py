"""Made by tools/golden.py: torch.cat along the last axis."""

import torch
from golden import random, write

for case, rows in (("two_axes", (3,)), ("three_axes", (2, 3))):
    a, b = random(*rows, 5), random(*rows, 8)
    write(__file__, case, {}, {"a": a, "b": b}, {"y": torch.cat([a, b], -1)})

a, b = random(2, 3, 4, 5), random(2, 3, 4, 2)
write(__file__, "groups", {"groups": 4}, {"a": a.flatten(-2), "b": b.flatten(-2)},
      {"y": torch.cat([a, b], -1).flatten(-2)})
