"""Made by tools/golden.py: equation 10 of Gated Delta Networks (arXiv:2412.06464) with whole matrices,

    S = S (alpha (I - beta k k^T)) + beta v k^T;  o = S q

where S is the transpose of a memory."""

import torch
from golden import random, write

F = torch.nn.functional


def recalled(x, fading, writing, rate, offset, heads, key_heads, key_dim, tiled=False, memory=None):
    """The outputs of one sequence (T, heads * E), and its memories (heads, key_dim, E) afterwards."""
    query, key, value = x.split([key_heads * key_dim, key_heads * key_dim, x.shape[1] - 2 * key_heads * key_dim], 1)
    query, key, value = (part.unflatten(1, (count, -1)) for part, count in
                         ((query, key_heads), (key, key_heads), (value, heads)))
    query, key = (part / torch.sqrt((part * part).sum(-1, keepdim=True) + 1e-6) for part in (query, key))
    times = heads // key_heads
    query, key = (part.repeat(1, times, 1) if tiled else part.repeat_interleave(times, 1) for part in (query, key))
    alpha = torch.exp(-torch.exp(rate) * F.softplus(fading + offset))
    beta = torch.sigmoid(writing)
    outputs, memories = [], []
    for h in range(heads):
        S = torch.zeros(value.shape[2], key_dim, dtype=x.dtype) if memory is None else memory[h].T
        rows = []
        for t in range(len(x)):
            k, v, b = key[t, h], value[t, h], beta[t, h]
            S = S @ (alpha[t, h] * (torch.eye(key_dim, dtype=x.dtype) - b * torch.outer(k, k))) + b * torch.outer(v, k)
            rows.append(S @ query[t, h] / key_dim**0.5)
        outputs.append(torch.stack(rows) if rows else torch.zeros(0, value.shape[2], dtype=x.dtype))
        memories.append(S.T)
    return torch.cat(outputs, 1), torch.stack(memories)


for case, heads, key_heads, key_dim, width, tiled in (("heads", 2, 2, 4, 3, False), ("shared", 4, 2, 5, 3, False),
                                                      ("tiled", 4, 2, 5, 3, True)):
    x, rate, offset = random(2, 6, 2 * key_heads * key_dim + heads * width), random(heads), random(heads)
    fading, writing = random(2, 6, heads), random(2, 6, heads)
    sizes = dict(heads=heads, key_heads=key_heads, key_dim=key_dim, tiled=tiled)
    y = torch.stack([recalled(x[b], fading[b], writing[b], rate, offset, **sizes)[0] for b in range(2)])
    write(__file__, case, sizes, {"x": x, "fading": fading, "writing": writing}, {"y": y},
          {"log_rate": rate, "offset": offset})

    # The second sequence begins in this call, and only two of its tokens count.
    memory, kept, y = random(2, heads, key_dim, width), [], []
    for b, (begun, count) in enumerate(((memory[0], 6), (None, 2))):
        own, after = recalled(x[b, :count], fading[b, :count], writing[b, :count], rate, offset, memory=begun, **sizes)
        y.append(F.pad(own, (0, 0, 0, 6 - count)))
        kept.append(after)
    inputs = {"x": x, "fading": fading, "writing": writing, "position": torch.tensor([7, 0]),
              "lengths": torch.tensor([6, 2])}
    write(__file__, case + "_state", sizes, inputs, {"y": torch.stack(y)}, {"log_rate": rate, "offset": offset},
          {"memory": memory}, {"memory": torch.stack(kept)})
