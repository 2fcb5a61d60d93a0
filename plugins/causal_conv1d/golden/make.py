"""Made by tools/golden.py: torch.nn.Conv1d with a group for each channel, over all steps at once."""

import torch
from golden import random, write


def convolved(x, weight, bias, f):
    channels, width = weight.shape
    y = torch.nn.functional.conv1d(torch.nn.functional.pad(x.transpose(1, 2), (width - 1, 0)), weight[:, None], bias,
                                   groups=channels)
    return f(y.transpose(1, 2))


x, weight, bias = random(2, 9, 5), random(5, 4), random(5)
write(__file__, "silu", {"activation": "silu"}, {"x": x}, {"y": convolved(x, weight, None, torch.nn.functional.silu)},
      {"weight": weight})
write(__file__, "bias", {}, {"x": x}, {"y": convolved(x, weight, bias, lambda y: y)}, {"weight": weight, "bias": bias})

# The second sequence begins in this call, and only two of its steps count.
position, lengths = torch.tensor([4, 0]), torch.tensor([5, 2])
begun = torch.stack([x[0], torch.cat([torch.zeros(4, 5, dtype=x.dtype), x[1, 4:]])])
y = convolved(begun, weight, bias, torch.nn.functional.silu)[:, 4:]
before = torch.stack([x[0, 1:4], random(3, 5)])
after = torch.stack([x[0, 6:9], torch.cat([torch.zeros(1, 5, dtype=x.dtype), x[1, 4:6]])])
write(__file__, "state", {"activation": "silu"}, {"x": x[:, 4:], "position": position, "lengths": lengths}, {"y": y},
      {"weight": weight, "bias": bias}, {"before": before}, {"before": after})
