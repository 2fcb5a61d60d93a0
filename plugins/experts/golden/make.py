"""Made by tools/golden.py: each expert is a torch.nn.functional layer of the tokens that chose it, as in transformers."""

import torch
from golden import random, write
from torch.nn import functional


def case(name, tokens, width, hidden, experts, k, activation, gated=True, bias=False, residual=False, oai=None):
    alpha, limit, offset = oai or (1.0, 0.0, 0.0)
    x, shares = random(2, tokens, width), torch.softmax(random(2, tokens, k), -1).float().double()
    chosen = torch.rand(2, tokens, experts).topk(k, -1)[1]
    weights = {"up_weight": random(experts, hidden, width, scale=0.3), "down_weight": random(experts, width, hidden)}
    if gated:
        weights["gate_weight"] = random(experts, hidden, width, scale=0.3)
    if bias:
        for part in ["up", "down"] + ["gate"] * gated:
            weights[part + "_bias"] = random(experts, weights[part + "_weight"].shape[1])
    inputs = {"x": x, "experts": chosen, "shares": shares}
    y = torch.zeros_like(x)
    if residual:
        inputs["residual"] = random(2, tokens, width)
        y = inputs["residual"].clone()
    act = {"silu": functional.silu, "gelu": functional.gelu, "relu": functional.relu}[activation]

    def product(rows, part, e):
        b = weights.get(part + "_bias")
        return functional.linear(rows, weights[part + "_weight"][e], None if b is None else b[e])

    for e in range(experts):
        for place in range(k):
            mask = chosen[..., place] == e
            rows = x[mask]
            h = product(rows, "up", e)
            if oai:
                gate = product(rows, "gate", e).clamp(max=limit)
                h = (h.clamp(-limit, limit) + offset) * (gate * torch.sigmoid(gate * alpha))
            else:
                h = act(product(rows, "gate", e)) * h if gated else act(h)
            y[mask] += product(h, "down", e) * shares[..., place][mask].unsqueeze(-1)
    params = {"activation": activation, "alpha": alpha, "limit": limit, "offset": offset}
    write(__file__, name, params, inputs, {"y": y}, weights)


case("mixtral", 7, 12, 20, 4, 2, "silu", residual=True)
case("gpt_oss", 5, 16, 8, 6, 3, "silu", bias=True, oai=(1.702, 2.0, 1.0))
case("plain", 6, 9, 13, 3, 1, "gelu", gated=False, bias=True)
