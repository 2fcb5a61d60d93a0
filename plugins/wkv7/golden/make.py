"""Made by tools/golden.py: section 4.1 of RWKV-7 (arXiv:2503.14456) with whole matrices,

    S = S (diag(w) - n^T (a n)) + v^T k;  o = S r

where S is the transpose of a memory, n the key that is replaced, of the length 1, and a its rate."""

import torch
from golden import random, write

F = torch.nn.functional
KEYS, VALUES = ("query", "fading", "key", "rate"), ("value", "gate", "first_value", "first_share")


def recalled(x, weights, heads, key_eps=0.0, memory=None):
    """The outputs of one sequence (T, heads * E), and its memories (heads, D, E) afterwards."""
    r, w, k, a = (x[name].unflatten(1, (heads, -1)) for name in KEYS)
    v = x["value"]
    if "first_value" in x:
        v = torch.lerp(v, x["first_value"], torch.sigmoid(x["first_share"]))
    v = v.unflatten(1, (heads, -1))
    of_old, of_rate, of_bonus = (weights[name].unflatten(0, (heads, -1)) for name in ("old_key", "key_rate", "bonus"))
    a, w = torch.sigmoid(a), torch.exp(-torch.exp(torch.tensor(-0.5, dtype=w.dtype)) * torch.sigmoid(w))
    n = k * of_old
    n = n / torch.sqrt((n * n).sum(-1, keepdim=True) + key_eps)
    k = k * (1 + (a - 1) * of_rate)
    memories = [torch.zeros(v.shape[2], k.shape[2], dtype=v.dtype) if memory is None else memory[h].T for h in range(heads)]
    rows = []
    for t in range(len(r)):
        for h in range(heads):
            memories[h] = memories[h] @ (torch.diag(w[t, h]) - torch.outer(n[t, h], a[t, h] * n[t, h])) + torch.outer(v[t, h], k[t, h])
        rows.append(torch.cat([memories[h] @ r[t, h] for h in range(heads)]))
    o = torch.stack(rows) if rows else torch.zeros(0, heads * v.shape[2], dtype=v.dtype)
    o = F.group_norm(o, heads, weights["weight"], weights["bias"], eps=64e-5)
    own = ((r * k * of_bonus).sum(-1, keepdim=True) * v).flatten(1)
    return (o + own) * x["gate"], torch.stack([m.T for m in memories])


for case, heads, key_dim, width, key_eps, first in (("first_layer", 2, 4, 3, 0.0, False), ("later_layer", 3, 5, 4, 0.0, True),
                                                   ("other_eps", 2, 3, 4, 1e-2, True)):
    inputs = {name: random(2, 6, heads * key_dim) for name in KEYS}
    inputs |= {name: random(2, 6, heads * width) for name in (VALUES if first else VALUES[:2])}
    weights = {name: random(heads * key_dim) for name in ("old_key", "key_rate", "bonus")}
    weights |= {name: random(heads * width) for name in ("weight", "bias")}
    params = {"heads": heads, "key_eps": key_eps} if key_eps else {"heads": heads}

    def of(b, count=6, memory=None):
        return recalled({name: value[b, :count] for name, value in inputs.items()}, weights, heads, key_eps, memory)

    write(__file__, case, params, inputs, {"y": torch.stack([of(b)[0] for b in range(2)])}, weights)

    # The second sequence begins in this call, and only two of its tokens count.
    memory, kept, y = random(2, heads, key_dim, width), [], []
    for b, (begun, count) in enumerate(((memory[0], 6), (None, 2))):
        own, after = of(b, count, begun)
        y.append(F.pad(own, (0, 0, 0, 6 - count)))
        kept.append(after)
    write(__file__, case + "_state", params,
          inputs | {"position": torch.tensor([7, 0]), "lengths": torch.tensor([6, 2])}, {"y": torch.stack(y)}, weights,
          {"memory": memory}, {"memory": torch.stack(kept)})
