"""Made by tools/golden.py: torch.cat of learned rows, as transformers' vision models put their class token first."""

import torch
from golden import random, write

for case, dtype, added in (("class_token", torch.float32, 1), ("two_rows", torch.float16, 2)):
    x, rows = random(2, 3, 5), random(added, 5, dtype=dtype)
    write(__file__, case, {}, {"x": x}, {"y": torch.cat([rows.expand(2, -1, -1), x], 1)}, {"rows": rows.to(dtype)})
