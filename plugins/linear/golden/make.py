"""Made by tools/golden.py: torch.nn.Linear."""

import torch
from golden import parameters, random, write

x = random(2, 3, 9)
linear = parameters(torch.nn.Linear(9, 7))
write(__file__, "bias", {}, {"x": x}, {"y": linear(x)}, {"weight": linear.weight, "bias": linear.bias})
write(__file__, "no_bias", {}, {"x": x}, {"y": linear(x) - linear.bias}, {"weight": linear.weight})

half = random(7, 9, dtype=torch.float16)
write(__file__, "f16_weight", {}, {"x": x}, {"y": torch.nn.functional.linear(x, half)}, {"weight": half.half()})

residual = random(2, 3, 7)
write(__file__, "residual", {}, {"x": x, "residual": residual}, {"y": linear(x) + residual},
      {"weight": linear.weight, "bias": linear.bias})
