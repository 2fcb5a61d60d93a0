"""Made by tools/golden.py: the lines of transformers, modeling_esm.py, EsmEmbeddings."""

import torch
from golden import random, write

x, ids = random(2, 5, 6), torch.tensor([[1, 7, 7, 2, 3], [4, 5, 6, 7, 7]])
for case, lengths in (("plain", None), ("lengths", torch.tensor([4, 4]))):
    counted = torch.ones(2, 5) if lengths is None else (torch.arange(5) < lengths[:, None]).double()
    masks = ((ids == 7) * counted).sum(-1) / counted.sum(-1)
    y = x.masked_fill((ids == 7)[..., None], 0) * 0.88 / (1 - masks)[:, None, None]
    inputs = {"x": x, "ids": ids} | ({} if lengths is None else {"lengths": lengths})
    write(__file__, case, {"mask": 7}, inputs, {"y": y})
