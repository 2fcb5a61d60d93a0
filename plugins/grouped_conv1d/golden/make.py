"""Made by tools/golden.py: torch.nn.Conv1d, which has channels before steps, while the layer has them after."""

import torch
from golden import parameters, random, write


def case(name, params, inputs, conv, activation=lambda v: v, zeros_from=None, end=None):
    x = inputs["x"].clone()
    for sequence, length in enumerate(zeros_from or []):
        x[sequence, length:] = 0
    y = activation(conv(x.transpose(1, 2))[..., :end]).transpose(1, 2) + inputs.get("residual", 0)
    weights = {"weight": conv.weight} | ({} if conv.bias is None else {"bias": conv.bias})
    write(__file__, name, params, inputs, {"y": y}, weights)


x, gelu = random(2, 13, 12), torch.nn.functional.gelu
case("plain", {"groups": 3}, {"x": x}, parameters(torch.nn.Conv1d(12, 15, 4, groups=3, bias=False)))
case("stride", {"groups": 2, "stride": 3, "padding": 1}, {"x": x},
     parameters(torch.nn.Conv1d(12, 10, 3, stride=3, padding=1, groups=2)))
case("each", {"groups": 12, "padding": 2, "activation": "silu"}, {"x": x},
     parameters(torch.nn.Conv1d(12, 12, 5, padding=2, groups=12)), torch.nn.functional.silu)

# The positions of wav2vec 2.0: the last step of an even kernel is cut off, and frames that do not count are zeros.
positions = parameters(torch.nn.Conv1d(12, 12, 6, padding=3, groups=4))
case("positions", {"groups": 4, "padding": 3, "end_padding": 2, "activation": "gelu"}, {"x": x, "residual": x},
     positions, gelu, end=-1)
case("lengths", {"groups": 4, "padding": 3, "end_padding": 2, "activation": "gelu"},
     {"x": x, "lengths": torch.tensor([7, 100])}, positions, gelu, zeros_from=[7, 13], end=-1)
