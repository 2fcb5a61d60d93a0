"""Made by tools/golden.py: attention without projections, from PyTorch's tensor operations. In masks, 1 means keep.

tests/models compares whole blocks, including projections, with torch.nn.MultiheadAttention.
"""

import math

import torch
from golden import random, write

B, TQ, TK, HEADS, D = 2, 4, 6, 4, 6
QUERY, KEY = torch.arange(TQ)[:, None], torch.arange(TK)  # rows, as positions


def attend(q, k, v, keep=None, kv_heads=HEADS, scale=1 / math.sqrt(D), softcap=None, bias=0, sinks=None):
    """(B, Tq, HEADS D); keep broadcasts to (B, heads, Tq, Tk)."""
    q = q.unflatten(-1, (HEADS, D)).transpose(1, 2)
    k, v = (x.unflatten(-1, (kv_heads, D)).transpose(1, 2).repeat_interleave(HEADS // kv_heads, 1) for x in (k, v))
    score = scale * q @ k.transpose(-1, -2)
    if softcap:
        score = softcap * torch.tanh(score / softcap)
    score = score + bias
    if keep is not None:
        score = score.masked_fill(~keep.bool(), -math.inf)
    if sinks is not None:  # one more key, whose value is 0
        score = torch.cat([score, sinks[None, :, None, None].expand(*score.shape[:3], 1)], -1)
        v = torch.nn.functional.pad(v, (0, 0, 0, 1))
    return (score.softmax(-1).nan_to_num() @ v).transpose(1, 2).flatten(2)  # nothing attended to: zeros, not NaN


def case(name, params, inputs, y, **more):
    write(__file__, name, {"heads": HEADS} | params, inputs, {"y": y}, **more)


q, k, v = random(B, TQ, HEADS * D), random(B, TK, HEADS * D), random(B, TK, HEADS * D)
own = {"q": q, "k": k[:, :TQ], "v": v[:, :TQ]}  # as many keys as queries
every = {"q": q, "k": k, "v": v}
causal = KEY[:TQ] <= QUERY

case("plain", {}, every, attend(**every))
case("causal", {"causal": True}, own, attend(**own, keep=causal))
case("scale", {"scale": 0.7}, every, attend(**every, scale=0.7))
case("softcap", {"softcap": 0.8}, every, attend(**every, softcap=0.8))
case("keys_are_values", {}, {"q": q, "k": k}, attend(q, k, k))

# The window of transformers' sliding attention: key > position - window, and causal.
case("window", {"causal": True, "window": 2}, own, attend(**own, keep=causal & (KEY[:TQ] > QUERY - 2)))
case("window_both_ways", {"window": 2}, every, attend(**every, keep=KEY > QUERY - 2))

few = {"q": q, "k": k[..., :2 * D], "v": v[..., :2 * D]}
case("grouped", {"kv_heads": 2}, few, attend(**few, kv_heads=2))
case("one_key_head", {"kv_heads": 1}, {"q": q, "k": k[..., :D], "v": v[..., :D]},
     attend(q, k[..., :D], v[..., :D], kv_heads=1))

lengths = torch.tensor([TK, 0])
case("key_lengths", {}, every | {"key_lengths": lengths},
     attend(**every, keep=(KEY < lengths[:, None])[:, None, None]))
mask = torch.rand(B, TK) < 0.6
case("key_mask", {}, every | {"key_mask": mask}, attend(**every, keep=mask[:, None, None]))
keep = torch.rand(B, TQ, TK) < 0.6
case("keep_mask", {}, every | {"keep_mask": keep}, attend(**every, keep=keep[:, None]))
bias = random(B, HEADS, TQ, TK)
case("score_bias", {"softcap": 2}, every | {"score_bias": bias}, attend(**every, softcap=2, bias=bias))
case("sequence_first", {"causal": True, "batch_first": False}, {name: x.transpose(0, 1) for name, x in own.items()},
     attend(**own, keep=causal).transpose(0, 1))

# Two rows that are new, behind three and one in caches of 7 rows; rows not yet written hold anything.
M, position = 7, torch.tensor([3, 1])
before = {"key_cache": random(B, M, HEADS * D), "value_cache": random(B, M, HEADS * D)}
new = {"q": q[:, :2], "k": k[:, :2], "v": v[:, :2]}
after = {name: cache.clone() for name, cache in before.items()}
for b, at in enumerate(position):
    after["key_cache"][b, at:at + 2], after["value_cache"][b, at:at + 2] = new["k"][b], new["v"][b]
stands = (position[:, None] + torch.arange(2))[:, None, :, None]  # of each query
for name, params, begin in (("cache", {}, -1), ("cache_window", {"window": 3}, stands - 3)):
    kept = (torch.arange(M) <= stands) & (torch.arange(M) > begin)
    case(name, {"causal": True} | params, new | {"position": position},
         attend(new["q"], after["key_cache"], after["value_cache"], keep=kept), states=before, states_after=after)

# A bias by distance, in which all keys farther off than R count as R; over whole sequences, and over the caches.
R, by_distance = 2, random(HEADS, 5)
case("distance_bias", {}, every | {"distance_bias": by_distance},
     attend(**every, bias=by_distance[:, (KEY - QUERY).clamp(-R, R) + R]))
cached_bias = by_distance[:, (torch.arange(M) - stands).clamp(-R, R)[:, 0] + R].transpose(0, 1)
case("cache_distance_bias", {"causal": True}, new | {"distance_bias": by_distance, "position": position},
     attend(new["q"], after["key_cache"], after["value_cache"], keep=torch.arange(M) <= stands, bias=cached_bias),
     states=before, states_after=after)

near = (KEY - QUERY).abs() < 2
case("two_sided_window", {"window": 2, "two_sided": True}, every, attend(**every, keep=near))

sinks = random(HEADS)
case("sinks", {}, every, attend(**every, sinks=sinks), weights={"sinks": sinks})
case("sinks_causal", {"causal": True, "kv_heads": 2}, {name: x[..., :2 * D] if name != "q" else x for name, x in own.items()},
     attend(q, own["k"][..., :2 * D], own["v"][..., :2 * D], keep=causal, kv_heads=2, sinks=sinks), weights={"sinks": sinks})

# Tokens 1 to 3 of a sequence see each other; after it, that of another only those before it.
ahead = torch.tensor([[0, 2, 1, 0], [0, 0, 0, 0]])
seen = KEY[:TQ] <= QUERY + ahead[:, :, None]
case("ahead", {"causal": True, "window": 3}, own | {"ahead": ahead},
     attend(**own, keep=(seen & (KEY[:TQ] > QUERY - 3))[:, None]))

# Of a window's sequences, one has three first keys that all see, the other none. And rows of queries that do not count.
first = torch.tensor([3, 0])
case("first_keys", {"window": 2, "two_sided": True}, every | {"first_keys": first},
     attend(**every, keep=((KEY < QUERY + 2) & ((KEY > QUERY - 2) | (KEY < first[:, None, None])))[:, None]))
case("query_lengths", {}, every | {"query_lengths": first},
     attend(**every) * (torch.arange(TQ) < first[:, None])[:, :, None])
