"""Made by tools/golden.py: torch.log_softmax."""

import torch
from golden import random, write

x = random(2, 3, 11)
write(__file__, "plain", {}, {"x": x}, {"y": torch.log_softmax(x, -1)})

large = random(4, 11, scale=80.0)  # exp() of these overflows
write(__file__, "large", {}, {"x": large}, {"y": torch.log_softmax(large, -1)})

masked = random(3, 11)
masked[torch.rand(3, 11) < 0.4] = -torch.inf
masked[:, 0] = 0.5
write(__file__, "masked", {}, {"x": masked}, {"y": torch.log_softmax(masked, -1)})
