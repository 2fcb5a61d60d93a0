"""Made by tools/golden.py: torch.topk, torch.softmax and torch.sigmoid, as models that were published combine them."""

import torch
from golden import random, write


def case(name, x, k, scoring="softmax", normalize=True, scale=1.0, groups=1, kept=1, two_best=False, bias=None,
         factors=None):
    experts = x.shape[-1]
    scores = torch.softmax(x, -1) if scoring == "softmax" else torch.sigmoid(x)
    values = x if bias is None else scores + bias
    of_groups = values.unflatten(-1, (groups, experts // groups))
    group_values = of_groups.topk(2 if two_best else 1, -1)[0].sum(-1)
    mask = torch.zeros_like(group_values).scatter(-1, group_values.topk(kept, -1)[1], 1)
    eligible = values.masked_fill(mask.repeat_interleave(experts // groups, -1) == 0, -torch.inf)
    best, chosen = eligible.topk(min(k + 1, int(kept * experts // groups)), -1)
    weights = scores.gather(-1, chosen[..., :k])
    if normalize:
        weights = weights / weights.sum(-1, keepdim=True)

    def clearness(a, b):
        return (a - b) / torch.maximum(a.abs(), b.abs())

    margin = clearness(best[..., k - 1], best[..., k]) if best.shape[-1] > k else torch.full(x.shape[:-1], 2.0)
    if kept < groups:
        falling = group_values.sort(-1, descending=True)[0]
        margin = torch.minimum(margin, clearness(falling[..., kept - 1], falling[..., kept]))
    params = {"k": k, "scoring": scoring, "normalize": normalize, "scale": scale, "groups": groups, "kept_groups": kept}
    params["group_score"] = "two_best" if two_best else "best"
    if factors is not None:
        weights = weights * factors[chosen[..., :k]]
    outputs = {"experts": chosen[..., :k], "weights": weights * scale, "margin": margin.double().unsqueeze(-1)}
    weights_of_layer = {"bias": bias, "factors": factors}
    write(__file__, name, params, {"x": x}, outputs, {k: v for k, v in weights_of_layer.items() if v is not None})


case("mixtral", random(2, 5, 8), 2)
case("qwen_moe", random(2, 3, 60), 4, normalize=False)
case("deepseek_v2", random(7, 40), 6, normalize=False, scale=16.0, groups=8, kept=3)
case("deepseek_v3", random(9, 64), 8, "sigmoid", scale=2.5, groups=8, kept=4, two_best=True, bias=random(64, scale=0.1))
case("softmax_bias", random(5, 24), 6, bias=random(24, scale=0.05))
case("all", random(4, 6), 6, "sigmoid", normalize=False)
case("gemma4", random(6, 32), 4, factors=random(32))
