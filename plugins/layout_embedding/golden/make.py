"""Made by tools/golden.py: calculate_spatial_position_embeddings() of transformers' LayoutLMv3TextEmbeddings."""

import torch
from golden import random, write

for case, dtype, rows, place, side in (("boxes", torch.float32, 12, 3, 2), ("wide_sides", torch.float16, 40, 2, 5)):
    x_table, y_table = random(rows, place, dtype=dtype), random(rows, place, dtype=dtype)
    height_table, width_table = random(rows, side, dtype=dtype), random(rows, side, dtype=dtype)
    x, boxes = random(2, 7, 4 * place + 2 * side), torch.randint(0, rows, (2, 7, 4))  # some with a negative side
    height = (boxes[..., 3] - boxes[..., 1]).clip(0, 1023)
    width = (boxes[..., 2] - boxes[..., 0]).clip(0, 1023)
    added = torch.cat([x_table[boxes[..., 0]], y_table[boxes[..., 1]], x_table[boxes[..., 2]], y_table[boxes[..., 3]],
                       height_table[height], width_table[width]], -1)
    tables = {"x_table": x_table, "y_table": y_table, "height_table": height_table, "width_table": width_table}
    write(__file__, case, {}, {"x": x, "boxes": boxes}, {"y": x + added}, {k: v.to(dtype) for k, v in tables.items()})
