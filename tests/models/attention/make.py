"""Results of torch.nn.MultiheadAttention. Its masks mark keys to leave out; Lamina's mark keys to keep.

    /usr/bin/python3 tests/models/attention/make.py

CASE.safetensors: in.NAME, out.NAME, weight.PART.weight and .bias, state.NAME before, state_after.NAME; and what
the heads are called with, as "params". attention_test.cpp builds the block of linear and attention layers.
"""

import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "tools"))
from from_torch import safetensors  # noqa: E402
from golden import parameters, random, stored  # noqa: E402

B, TQ, TK, C, HEADS = 2, 4, 5, 12, 3


def write(case, params, inputs, outputs, weights, states=None, states_after=None):
    roles = {"in": inputs, "weight": weights, "out": outputs, "state": states, "state_after": states_after}
    tensors = {f"{role}.{name}": stored(t.detach())
               for role, named in roles.items() for name, t in (named or {}).items()}
    metadata = {"params": json.dumps(params), "torch": torch.__version__}
    (HERE / f"{case}.safetensors").write_bytes(safetensors(tensors, metadata))


def weights(module):
    if module.in_proj_weight is not None:
        query, key, value = module.in_proj_weight.chunk(3)
    else:
        query, key, value = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
    found = {"query.weight": query, "key.weight": key, "value.weight": value, "out.weight": module.out_proj.weight}
    if module.in_proj_bias is not None:
        query, key, value = module.in_proj_bias.chunk(3)
        found |= {"query.bias": query, "key.bias": key, "value.bias": value, "out.bias": module.out_proj.bias}
    return found


def attend(module, query, source, **masks):
    return module(query, source, source, need_weights=False, **masks)[0]


torch.manual_seed(20170612)
module = parameters(torch.nn.MultiheadAttention(C, HEADS, batch_first=True))
params = {"heads": HEADS}
x = random(B, TQ, C)
later = torch.ones(TQ, TQ, dtype=torch.bool).triu(1)

write("self", params, {"query": x}, {"y": attend(module, x, x)}, weights(module))
write("causal", params | {"causal": True}, {"query": x}, {"y": attend(module, x, x, attn_mask=later)},
      weights(module))
write("residual", params, {"query": x, "residual": (r := random(B, TQ, C))}, {"y": r + attend(module, x, x)},
      weights(module))
write("sequence_first", params | {"causal": True, "batch_first": False}, {"query": x.transpose(0, 1)},
      {"y": attend(module, x, x, attn_mask=later).transpose(0, 1)}, weights(module))

no_bias = parameters(torch.nn.MultiheadAttention(C, HEADS, bias=False, batch_first=True))
write("self_no_bias", params, {"query": x}, {"y": attend(no_bias, x, x)}, weights(no_bias))

# A source of other length and width than the query's.
cross = parameters(torch.nn.MultiheadAttention(C, HEADS, kdim=8, vdim=8, batch_first=True))
source = random(B, TK, 8)
write("cross", params, {"query": x, "source": source}, {"y": attend(cross, x, source)}, weights(cross))

lengths = torch.tensor([TK, 2])
padding = torch.arange(TK) >= lengths[:, None]
write("cross_key_lengths", params, {"query": x, "source": source, "key_lengths": lengths},
      {"y": attend(cross, x, source, key_padding_mask=padding)}, weights(cross))

keep = torch.tensor([[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]], dtype=torch.bool)
write("cross_key_mask", params, {"query": x, "source": source, "key_mask": keep},
      {"y": attend(cross, x, source, key_padding_mask=~keep)}, weights(cross))

keep = torch.rand(B, TQ, TK) < 0.6
keep[:, :, 0] = True  # PyTorch gives NaN where nothing is kept
write("cross_keep_mask", params, {"query": x, "source": source, "keep_mask": keep},
      {"y": attend(cross, x, source, attn_mask=~keep.repeat_interleave(HEADS, 0))}, weights(cross))

# Two query heads share each key and value head: the same as attention whose key and value rows are there twice.
grouped = parameters(torch.nn.MultiheadAttention(C, 4, batch_first=True))
shared = weights(grouped)
with torch.no_grad():
    for name in ("key.weight", "value.weight", "key.bias", "value.bias"):
        heads = shared[name].unflatten(0, (4, C // 4))
        heads[1::2] = heads[0::2]  # views of the module's parameters
        shared[name] = heads[0::2].flatten(0, 1).clone()
write("grouped", {"heads": 4, "kv_heads": 2}, {"query": x}, {"y": attend(grouped, x, x)}, shared)

# The last step of a causal sequence, with the keys and values of the steps before it in a cache of 6 rows.
last = TQ - 1
cache, cache_after = {}, {}
for name in ("key", "value"):
    projected = torch.nn.functional.linear(x, weights(module)[f"{name}.weight"], weights(module)[f"{name}.bias"])
    cache_after[f"{name}_cache"] = torch.nn.functional.pad(projected, (0, 0, 0, 6 - TQ))
    cache[f"{name}_cache"] = torch.nn.functional.pad(projected[:, :last], (0, 0, 0, 6 - last))
write("cached_step", params | {"causal": True}, {"query": x[:, last:], "position": torch.full((B,), last)},
      {"y": attend(module, x, x, attn_mask=later)[:, last:]}, weights(module), cache, cache_after)
