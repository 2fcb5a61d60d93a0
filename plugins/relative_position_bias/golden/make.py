"""Made by tools/golden.py: T5's relative position bias, with the arithmetic of transformers' T5Attention in float32."""

import math

import torch
from golden import random, write


def buckets_of(distance, bidirectional, buckets, max_distance):
    """T5Attention._relative_position_bucket of transformers."""
    first = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        first += (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = -torch.min(distance, torch.zeros_like(distance))
    exact = buckets // 2
    large = exact + (torch.log(distance.float() / exact) / math.log(max_distance / exact) * (buckets - exact)).long()
    return first + torch.where(distance < exact, distance, large.clamp(max=buckets - 1))


for name, bidirectional, buckets, max_distance in (("encoder", True, 32, 128), ("decoder", False, 32, 128),
                                                   ("far", True, 64, 2048), ("far_back", False, 320, 800),
                                                   ("few", True, 6, 5)):
    table = random(buckets, 3)
    bucket = buckets_of(torch.arange(-max_distance, max_distance + 1), bidirectional, buckets, max_distance)
    # The bias is constant beyond this distance, so attention can use the last column for all keys beyond it.
    beyond = torch.tensor([-4096, -max_distance - 1, max_distance + 1, 4096])
    assert buckets_of(beyond, bidirectional, buckets, max_distance).tolist() == [bucket[0], bucket[0], bucket[-1],
                                                                                 bucket[-1]]
    write(__file__, name, {"bidirectional": bidirectional, "max_distance": max_distance}, {}, {"y": table[bucket].T},
          {"table": table})
