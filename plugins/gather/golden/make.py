"""Made by tools/golden.py: rows of a tensor by their numbers, as PyTorch indexes."""

import torch
from golden import random, write

for case, shape, numbers in (("windows", (1, 6, 5), [[4, 0, 1], [3, 2, 5], [5, 5, 0]]),
                             ("sequences", (2, 3, 2), [[5, 3, 0, 1]])):
    x, rows = random(*shape), torch.tensor(numbers)
    write(__file__, case, {}, {"x": x, "rows": rows}, {"y": x.flatten(0, 1)[rows]})
