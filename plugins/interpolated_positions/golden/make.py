"""Made by tools/golden.py: torch.nn.functional.interpolate of positions, which are then added to patches."""

import torch
from golden import random, write

for case, side, rows, columns in (("larger", 3, 4, 7), ("smaller", 5, 3, 2), ("one_row", 4, 1, 4)):
    x, table = random(1, rows * columns, 6), random(side, side, 6)
    coordinates = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))[None]
    resampled = torch.nn.functional.interpolate(table.permute(2, 0, 1)[None], (rows, columns), mode="bilinear",
                                                align_corners=True)
    write(__file__, case, {}, {"x": x, "coordinates": coordinates, "sizes": torch.tensor([[rows, columns]])},
          {"y": x + resampled.flatten(2).transpose(1, 2)}, {"table": table})
