"""Made by tools/golden.py: torch.nn.GroupNorm, mostly with a channel in each group. It has channels before steps, while
the layer has them after."""

import torch
from golden import parameters, random, write


def normalized(x, norm):
    return norm(x.transpose(1, 2)).transpose(1, 2)


x = random(3, 14, 10)
norm = parameters(torch.nn.GroupNorm(10, 10))
weights = {"weight": norm.weight, "bias": norm.bias}
write(__file__, "plain", {}, {"x": x}, {"y": normalized(x, torch.nn.GroupNorm(10, 10, affine=False))})
write(__file__, "gelu", {"activation": "gelu"}, {"x": x}, {"y": torch.nn.functional.gelu(normalized(x, norm))}, weights)

lengths = torch.tensor([14, 1, 9])
y = torch.zeros_like(x)
norm = torch.nn.GroupNorm(10, 10, eps=1e-3).to(torch.float64).requires_grad_(False)
norm.weight.copy_(weights["weight"])
for b, length in enumerate(lengths): # PyTorch refuses a single value, whose variance is 0
    y[b, :length] = normalized(x[b:b + 1, :length], norm)[0] if length > 1 else 0
write(__file__, "lengths", {"eps": 1e-3}, {"x": x, "lengths": lengths}, {"y": y}, {"weight": weights["weight"]})

norm = parameters(torch.nn.GroupNorm(2, 10))
write(__file__, "groups", {"group_size": 5}, {"x": x}, {"y": normalized(x, norm)},
      {"weight": norm.weight, "bias": norm.bias})
