"""Made by tools/golden.py: torch.nn.LayerNorm."""

import torch
from golden import parameters, random, write

norm = parameters(torch.nn.LayerNorm(20))
x = random(2, 3, 20)
write(__file__, "affine", {}, {"x": x}, {"y": norm(x)}, {"weight": norm.weight, "bias": norm.bias})

plain = torch.nn.LayerNorm(20, eps=1e-3, elementwise_affine=False)
write(__file__, "plain", {"eps": 1e-3}, {"x": x}, {"y": plain(x)})

# A mean far from zero, where E[x^2] - E[x]^2 has no digit left.
far = random(3, 20, scale=1.0).add(1e4).float().double()
write(__file__, "mean_1e4", {}, {"x": far}, {"y": norm(far)}, {"weight": norm.weight, "bias": norm.bias})

residual = random(2, 3, 20)
write(__file__, "residual", {}, {"x": x, "residual": residual}, {"y": norm(x) + residual},
      {"weight": norm.weight, "bias": norm.bias})
