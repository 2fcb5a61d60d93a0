"""Made by tools/golden.py: torch.cat of the rows of a text and of an image."""

import torch
from golden import random, write

for case, first, second in (("image_behind_text", 4, 3), ("one_row", 1, 5)):
    x, other = random(2, first, 5), random(2, second, 5)
    write(__file__, case, {}, {"x": x, "other": other}, {"y": torch.cat([x, other], 1)})
