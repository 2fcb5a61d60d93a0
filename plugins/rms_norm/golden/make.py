"""Made by tools/golden.py: RMS norm from tensor operations, because older versions of PyTorch have no module for it."""

import torch
from golden import random, write


def rms_norm(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


x, weight = random(2, 3, 20), random(20)
write(__file__, "weight", {}, {"x": x}, {"y": rms_norm(x, weight)}, {"weight": weight})
write(__file__, "plain", {"eps": 1e-3}, {"x": x}, {"y": rms_norm(x, 1, 1e-3)})
write(__file__, "weight_offset", {"weight_offset": 1}, {"x": x}, {"y": rms_norm(x, 1 + weight)}, {"weight": weight})

# The norm of queries and keys: each of the four heads separately, all with the same weight.
weight = random(5)
write(__file__, "groups", {"groups": 4}, {"x": x}, {"y": rms_norm(x.unflatten(-1, (4, 5)), weight).flatten(-2)},
      {"weight": weight})

residual = random(2, 3, 20)
write(__file__, "residual", {"groups": 4}, {"x": x, "residual": residual},
      {"y": rms_norm(x.unflatten(-1, (4, 5)), weight).flatten(-2) + residual}, {"weight": weight})

# A weight of its own for each group.
weight = random(20)
write(__file__, "weight_groups", {"groups": 4, "weight_groups": 4}, {"x": x},
      {"y": rms_norm(x.unflatten(-1, (4, 5)), weight.unflatten(-1, (4, 5))).flatten(-2)}, {"weight": weight})
