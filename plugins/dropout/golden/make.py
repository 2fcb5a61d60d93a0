"""Made by tools/golden.py: torch.nn.Dropout after eval()."""

import torch
from golden import random, write

x = random(2, 3, 8)
for case, p in (("default", 0.1), ("always", 1.0)):
    write(__file__, case, {"p": p}, {"x": x}, {"y": torch.nn.Dropout(p).eval()(x)})

residual = random(2, 3, 8)
write(__file__, "residual", {"p": 0.1}, {"x": x, "residual": residual}, {"y": residual + torch.nn.Dropout(0.1).eval()(x)})
