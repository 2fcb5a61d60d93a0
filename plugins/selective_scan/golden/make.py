"""Made by tools/golden.py: Mamba-2's structured matrices (arXiv:2405.21060, section 3), a product for a whole sequence,

    Y = (L * (C B^T)) (dt X) + D X;  L[t, s] = exp(A (dt[s + 1] + ... + dt[t]))

and, where there is a state, what is left of it: exp(A (dt[0] + ... + dt[t])) C H.
"""

import torch
from golden import random, write

F = torch.nn.functional


def scanned(x, step, rate, offset, skip, heads, groups, state_dim, min_step=0.0, max_step=torch.inf, state=None):
    """The outputs of one sequence (T, heads * E), and its states (heads, state_dim, E) afterwards."""
    keys = groups * state_dim
    value, key, query = x.split([x.shape[1] - 2 * keys, keys, keys], 1)
    dt = F.softplus(step + offset).clamp(min_step, max_step)
    outputs, states = [], []
    for h in range(heads):
        part = slice(h // (heads // groups) * state_dim, (h // (heads // groups) + 1) * state_dim)
        X, B, C = value.unflatten(1, (heads, -1))[:, h], key[:, part], query[:, part]
        passed = torch.cumsum(-torch.exp(rate[h]) * dt[:, h], 0)
        L = torch.exp(passed[:, None] - passed[None, :]).tril()
        before = torch.zeros(state_dim, X.shape[1], dtype=x.dtype) if state is None else state[h]
        moved = dt[:, h, None] * X
        outputs.append((L * (C @ B.T)) @ moved + torch.exp(passed)[:, None] * (C @ before) + skip[h] * X)
        states.append(torch.exp(passed[-1]) * before + (torch.exp(passed[-1] - passed)[:, None] * B).T @ moved)
    return torch.cat(outputs, 1), torch.stack(states)


for case, heads, groups, state_dim, width, limits in (("heads", 2, 2, 4, 3, {}), ("shared", 4, 2, 5, 3, {}),
                                                      ("limits", 4, 1, 3, 2, {"min_step": 0.5, "max_step": 1.0})):
    x, step = random(2, 6, heads * width + 2 * groups * state_dim), random(2, 6, heads)
    rate, offset, skip = random(heads), random(heads), random(heads)
    sizes = dict(heads=heads, groups=groups, state_dim=state_dim, **limits)
    weights = {"log_rate": rate, "offset": offset, "skip": skip}
    y = torch.stack([scanned(x[b], step[b], rate, offset, skip, **sizes)[0] for b in range(2)])
    write(__file__, case, sizes, {"x": x, "step": step}, {"y": y}, weights)

    # The second sequence begins in this call, and only two of its tokens count.
    state, kept, y = random(2, heads, state_dim, width), [], []
    for b, (begun, count) in enumerate(((state[0], 6), (None, 2))):
        own, after = scanned(x[b, :count], step[b, :count], rate, offset, skip, state=begun, **sizes)
        y.append(F.pad(own, (0, 0, 0, 6 - count)))
        kept.append(after)
    inputs = {"x": x, "step": step, "position": torch.tensor([7, 0]), "lengths": torch.tensor([6, 2])}
    write(__file__, case + "_state", sizes, inputs, {"y": torch.stack(y)}, weights, {"state": state},
          {"state": torch.stack(kept)})

# Mamba's recurrence, a channel at a time: each row of a state has a rate of its own.
channels, rows = 6, 5
x, step, log_rate = random(2, 7, channels + 2 * rows), random(2, 7, channels), random(channels, rows)
offset, skip = random(channels), random(channels)
value, key, query = x.split([channels, rows, rows], 2)
dt, h, outputs = F.softplus(step + offset), torch.zeros(2, channels, rows, dtype=x.dtype), []
for t in range(7):
    h = torch.exp(-torch.exp(log_rate) * dt[:, t, :, None]) * h + (dt * value)[:, t, :, None] * key[:, t, None]
    outputs.append((h * query[:, t, None]).sum(2) + skip * value[:, t])
write(__file__, "rates", {"heads": channels, "state_dim": rows, "rates": rows}, {"x": x, "step": step},
      {"y": torch.stack(outputs, 1)}, {"log_rate": log_rate.flatten(), "offset": offset, "skip": skip})
