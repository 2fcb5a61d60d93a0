"""Made by tools/golden.py: torch.nn.Linear around an activation, and the gated form."""

import torch
import torch.nn.functional as F
from golden import parameters, random, write

C, H = 6, 10
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
               "tanh": torch.tanh, "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
               "sigmoid": torch.sigmoid, "relu2": lambda x: torch.relu(x) ** 2}

up, down = parameters(torch.nn.Linear(C, H)), parameters(torch.nn.Linear(H, C))
weights = {"up_weight": up.weight, "up_bias": up.bias, "down_weight": down.weight, "down_bias": down.bias}
x = random(2, 3, C)
for name, activation in ACTIVATIONS.items():
    write(__file__, name, {"activation": name}, {"x": x}, {"y": down(activation(up(x)))}, weights)

residual = random(2, 3, C)
write(__file__, "residual", {"activation": "gelu"}, {"x": x, "residual": residual},
      {"y": residual + down(F.gelu(up(x)))}, weights)

# SwiGLU (Shazeer, arXiv:2002.05202), with no biases as there.
gate = parameters(torch.nn.Linear(C, H, bias=False))
y = F.linear(F.silu(gate(x)) * F.linear(x, up.weight), down.weight)
write(__file__, "gated", {"activation": "silu"}, {"x": x}, {"y": y},
      {"up_weight": up.weight, "gate_weight": gate.weight, "down_weight": down.weight})
