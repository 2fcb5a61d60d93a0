"""Made by tools/golden.py: slices of tensors."""

from golden import random, write

x = random(2, 3, 12)
write(__file__, "plain", {"first": 2, "count": 7}, {"x": x}, {"y": x[..., 2:9]})
write(__file__, "groups", {"groups": 3, "first": 1, "count": 2}, {"x": x},
      {"y": x.unflatten(-1, (3, 4))[..., 1:3].flatten(-2)})
