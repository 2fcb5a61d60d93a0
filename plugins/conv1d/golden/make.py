"""Made by tools/golden.py: torch.nn.Conv1d, which has channels before steps, while the layer has them after."""

import torch
from golden import parameters, random, write


def case(name, params, x, conv, activation=lambda v: v):
    y = activation(conv(x.transpose(1, 2))).transpose(1, 2)
    weights = {"weight": conv.weight} | ({} if conv.bias is None else {"bias": conv.bias})
    write(__file__, name, params, {"x": x}, {"y": y}, weights)


x, gelu = random(2, 12, 5), torch.nn.functional.gelu
case("plain", {}, x, parameters(torch.nn.Conv1d(5, 7, 4, bias=False)))
case("stride", {"stride": 3}, x, parameters(torch.nn.Conv1d(5, 7, 3, stride=3)))

# The two convolutions of Whisper's encoder. PyTorch ignores leftover steps; here the zeros after the last step are left
# out instead.
case("same", {"padding": 1, "activation": "gelu"}, x, parameters(torch.nn.Conv1d(5, 7, 3, padding=1)), gelu)
case("halved", {"stride": 2, "padding": 1, "end_padding": 0, "activation": "gelu"}, x,
     parameters(torch.nn.Conv1d(5, 7, 3, stride=2, padding=1)), gelu)
