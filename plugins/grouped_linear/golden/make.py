"""Made by tools/golden.py: torch.einsum over groups of channels."""

import torch
from golden import random, write

x, weight = random(2, 3, 4, 5), random(4, 7, 5)
write(__file__, "plain", {"groups": 4}, {"x": x.flatten(-2)},
      {"y": torch.einsum("btgk,gnk->btgn", x, weight).flatten(-2)}, {"weight": weight})
