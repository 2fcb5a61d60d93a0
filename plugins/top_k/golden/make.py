"""Made by tools/golden.py: a stable torch.sort, and torch.exp."""

import torch
from golden import random, write


def case(name, x, k, bias=None):
    scores = x if bias is None else x + bias
    values, indices = torch.sort(scores, dim=-1, descending=True, stable=True)
    values, indices = values[..., :k], indices[..., :k]
    total = torch.exp(scores - values[..., :1]).sum(-1, keepdim=True)
    inputs = {"x": x} if bias is None else {"x": x, "bias": bias}
    write(__file__, name, {"k": k}, inputs, {"values": values, "indices": indices, "sum": total})


case("plain", random(2, 3, 37), 5)
case("large", random(4, 23, scale=80.0), 23)  # exp() of these overflows
case("ties", torch.randint(-2, 3, (3, 41)).double(), 17)

masked = random(3, 29)
masked[torch.rand(3, 29) < 0.8] = -torch.inf
masked[:, 7] = 0.5
case("masked", masked, 20)

suppressed = torch.zeros(31, dtype=torch.float64)
suppressed[::3] = -(2.0**100)
x = torch.randint(-64, 64, (2, 31)).double() / 16  # so that the float nearest to each sum is the same in any precision
case("biased", x, 25, suppressed.float().double())
