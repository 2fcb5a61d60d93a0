"""Made by tools/golden.py: as transformers, modeling_longformer.py, finds the tokens of a question."""

import torch
from golden import write

ids = torch.tensor([[0, 7, 2, 3, 2, 2], [0, 2, 6, 2, 2, 5], [4, 5, 6, 7, 8, 9]])
steps = torch.arange(ids.shape[1])
for case, params, lengths in (("until", {"until": 2}, None), ("most", {"most": 1}, None),
                              ("lengths", {"until": 8, "most": 5}, torch.tensor([6, 0, 3]))):
    ends = torch.where(ids == params.get("until", -1), steps, ids.shape[1]).amin(1)
    count = ends.clamp(max=params.get("most", ids.shape[1]))
    if lengths is not None:
        count = torch.minimum(count, lengths)
    inputs = {"ids": ids} | ({} if lengths is None else {"lengths": lengths})
    write(__file__, case, params, inputs, {"count": count, "mask": steps < count[:, None]})
