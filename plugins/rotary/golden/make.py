"""Made by tools/golden.py: rotary embedding as usual in PyTorch, with the sines of whole sequences."""

import torch
from golden import random, write

B, T, HEADS, D = 2, 5, 3, 8


def angles(frequencies, offset):
    """(B, T, 1, P) radians."""
    position = torch.as_tensor(offset, dtype=torch.float64)[:, None] + torch.arange(T)
    return (position[..., None] * frequencies)[:, :, None]


def interleaved(x, angle):
    """Pairs of neighbours as complex numbers: RoFormer, and Llama's own code."""
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2)


def halves(x, angle):
    """Channel i with channel i + P: GPT-NeoX, and Llama in transformers (rotate_half)."""
    first, second = x.chunk(2, -1)
    double = torch.cat((angle, angle), -1)
    return x * double.cos() + torch.cat((-second, first), -1) * double.sin()


def frequencies(pairs, base=10000.0):
    return (base ** (-torch.arange(pairs, dtype=torch.float64) / pairs)).float().double()


x, f, start = random(B, T, HEADS, D), frequencies(D // 2), torch.tensor([0, 7])


def case(name, params, y, weight, x=x, **inputs):
    write(__file__, name, {"heads": HEADS} | params, {"x": x} | inputs, {"y": y.flatten(-2)}, {"frequencies": weight})


flat = x.flatten(-2)
case("interleaved", {}, interleaved(x, angles(f, [0, 0])), f, flat)
case("halves", {"layout": "halves"}, halves(x, angles(f, start)), f, flat, position=start)
far = torch.tensor([10 ** 6, 2 ** 24 + 1])
case("far", {"layout": "halves"}, halves(x, angles(f, far)), f, flat, position=far)

# Partial, and with the factor that YaRN multiplies cosines and sines by: the last channels of a head stay.
some = frequencies(3, 500000.0)
turned = torch.cat((1.25 * halves(x[..., :6], angles(some, start)), x[..., 6:]), -1)
case("partial", {"layout": "halves", "magnitude": 1.25}, turned, some, flat, position=start)
write(__file__, "sequence_first", {"heads": HEADS, "batch_first": False},
      {"x": flat.transpose(0, 1), "position": start},
      {"y": interleaved(x, angles(f, start)).flatten(-2).transpose(0, 1)}, {"frequencies": f})

# Positions on three axes, of which each part of the pairs turns with one, as in Qwen2-VL.
places, sections = torch.tensor([[[0, 0, 0], [1, 1, 1], [1, 1, 2], [1, 2, 1], [3, 3, 3]],
                                 [[7, 9, 2], [10 ** 6, 0, 5], [4, 4, 4], [0, 3, 10 ** 6], [6, 5, 4]]]), [1, 1, 2]
axis = torch.tensor([a for a, section in enumerate(sections) for _ in range(section)])
of_axes = torch.where(torch.arange(3)[:, None] == axis, f, 0)
case("coordinates", {"layout": "halves"}, halves(x, (places.double()[..., axis] * f)[:, :, None]), of_axes.flatten(), flat,
     coordinates=places)

# The same angles in all sequences, whatever the position: of a token that stays, then of places between -1 and 1.
some = torch.cat((torch.zeros(1, D // 2), 2 * torch.pi * random(T - 1, D // 2))).float().double()
case("angles", {"layout": "halves", "angles": True}, halves(x, some[None, :, None]), some.flatten(), flat)
