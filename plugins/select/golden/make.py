"""Made by tools/golden.py: torch.where of rows, as transformers puts images among the words of a prompt."""

import torch
from golden import random, write

for case, shape in (("prompt", (2, 5, 7)), ("one_row", (1, 1, 3))):
    x, other = random(*shape), random(*shape)
    mask = torch.arange(shape[0] * shape[1]).reshape(shape[:2]) % 3 == 0
    write(__file__, case, {}, {"x": x, "other": other, "mask": mask.to(torch.int64)},
          {"y": torch.where(mask[..., None], other, x)})
    write(__file__, case + "_added", {"added": True}, {"x": x, "other": other, "mask": mask.to(torch.int64)},
          {"y": torch.where(mask[..., None], x + other, x)})
