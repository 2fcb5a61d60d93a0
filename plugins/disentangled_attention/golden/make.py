"""Made by tools/golden.py: the attention of DeBERTa-v2, with the arithmetic of transformers' DisentangledSelfAttention."""

import math

import torch
from golden import random, write


def bucket_of(distance, span, max_distance):
    """make_log_bucket_position of transformers, in float32."""
    middle = span // 2
    far = torch.where((distance < middle) & (distance > -middle), torch.tensor(middle - 1), distance.abs())
    range_ = torch.log(torch.tensor((max_distance - 1) / middle))
    bucket = torch.ceil(torch.log(far / middle) / range_ * (middle - 1)) + middle
    return torch.where(far <= middle, distance.float(), bucket * distance.sign()).long()


def attend(q, k, v, heads, rows, pos_key=None, pos_query=None, lengths=None, scale=0):
    """rows (T, T): for each query and key, the row of pos_key and pos_query."""
    split = lambda x: x.unflatten(-1, (heads, -1)).transpose(-2, -3)
    q, k, v = split(q), split(k), split(v)
    score = q @ k.transpose(-1, -2)
    if pos_key is not None:
        score = score + (q @ split(pos_key).transpose(-1, -2)).gather(-1, rows.expand_as(score))
    if pos_query is not None:
        score = score + (k @ split(pos_query).transpose(-1, -2)).gather(-1, rows.T.expand_as(score)).transpose(-1, -2)
    terms = 1 + (pos_key is not None) + (pos_query is not None)
    score = score * (scale or 1 / math.sqrt(q.shape[-1] * terms))
    if lengths is not None:
        score = score.masked_fill(torch.arange(k.shape[-2]) >= lengths[:, None, None, None], -math.inf)
    return (score.softmax(-1) @ v).transpose(-2, -3).flatten(-2)


def case(name, T, span, max_distance=0, key=True, query=True, lengths=None, scale=0, heads=2, D=3):
    torch.manual_seed(T)
    q, k, v = (random(2, T, heads * D) for _ in range(3))
    distance = torch.arange(T)[:, None] - torch.arange(T)
    bucket = bucket_of(distance, span, max_distance) if max_distance else distance
    rows = (bucket + span).clamp(0, 2 * span - 1)
    weights = {name: random(2 * span, heads * D)
               for name, wanted in (("pos_key", key), ("pos_query", query)) if wanted}
    lengths = None if lengths is None else torch.tensor(lengths)
    inputs = {"q": q, "k": k, "v": v} | ({} if lengths is None else {"key_lengths": lengths})
    params = {"heads": heads, "max_distance": max_distance} | ({"scale": scale} if scale else {})
    write(__file__, name, params, inputs, {"y": attend(q, k, v, heads, rows, **weights, lengths=lengths, scale=scale)},
          weights)


case("buckets", 40, span=8, max_distance=30)
case("odd", 30, span=7, max_distance=12, lengths=[30, 17])
case("published", 600, span=256, max_distance=512, heads=1, D=1)
case("each", 12, span=5, scale=0.5)
case("keys", 9, span=20, query=False)
case("queries", 13, span=4, max_distance=6, key=False, lengths=[5, 13])
case("none", 6, span=4, key=False, query=False)
