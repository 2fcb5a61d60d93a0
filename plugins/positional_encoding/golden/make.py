"""Made by tools/golden.py: the usual table of sinusoids, in float64, and nn.Embedding."""

import math

import torch
from golden import random, write


def sinusoids(positions, channels):
    """PE(position, 2i) = sin(position / 10000^(2i/channels)), PE(position, 2i+1) = cos(the same)."""
    inverse_wavelength = torch.exp(torch.arange(0, channels, 2, dtype=torch.float64) * (-math.log(10000.0) / channels))
    angle = positions.to(torch.float64)[..., None] * inverse_wavelength
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)


# The numbers that tutorials print for d_model 4: a check that needs no PyTorch to be believed.
printed = torch.tensor([[[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.0100, 0.9999], [0.9093, -0.4161, 0.0200, 0.9998]]],
                       dtype=torch.float64)
table = sinusoids(torch.arange(3), 4)[None]
assert (table - printed).abs().max() < 5.1e-5
write(__file__, "d_model_4", {}, {"x": torch.zeros(1, 3, 4)}, {"y": table})

x = random(2, 5, 12)
write(__file__, "interleaved", {}, {"x": x}, {"y": x + sinusoids(torch.arange(5), 12)})

halves = sinusoids(torch.arange(5), 12)
halves = torch.cat((halves[:, 0::2], halves[:, 1::2]), -1)
write(__file__, "halves", {"layout": "halves"}, {"x": x}, {"y": x + halves})

offset = torch.tensor([7, 4990])
encoding = sinusoids(offset[:, None] + torch.arange(5), 12)
write(__file__, "offset", {"max_len": 5000}, {"x": x, "offset": offset}, {"y": x + encoding})
write(__file__, "sequence_first", {"max_len": 5000, "batch_first": False},
      {"x": x.transpose(0, 1), "offset": offset}, {"y": (x + encoding).transpose(0, 1)})

learned = random(9, 12)
offset = torch.tensor([4, 1])
y = x + torch.nn.Embedding.from_pretrained(learned)(offset[:, None] + torch.arange(5))
write(__file__, "learned", {"max_len": 9}, {"x": x, "offset": offset}, {"y": y}, {"table": learned})
