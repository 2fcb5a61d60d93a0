"""Made by tools/golden.py: PyTorch's activations, and the soft cap of Gemma 2."""

import torch
from golden import random, write

x = random(3, 21, scale=3.0)
gelu, silu = torch.nn.functional.gelu, torch.nn.functional.silu
for name, f in (("relu", torch.relu), ("gelu", gelu), ("silu", silu), ("tanh", torch.tanh),
                ("gelu_tanh", lambda v: gelu(v, approximate="tanh")),
                ("quick_gelu", lambda v: v * torch.sigmoid(1.702 * v)), ("sigmoid", torch.sigmoid),
                ("relu2", lambda v: torch.relu(v) ** 2), ("log1p_relu", lambda v: torch.log1p(torch.relu(v)))):
    write(__file__, name, {"activation": name}, {"x": x}, {"y": f(x)})

logits = random(3, 21, scale=80.0)
logits[0, 3], logits[1, 7] = torch.inf, -torch.inf
write(__file__, "softcap", {"activation": "tanh", "scale": 30}, {"x": logits}, {"y": 30 * torch.tanh(logits / 30)})
write(__file__, "clip", {"activation": "clamp", "scale": 1.5}, {"x": x}, {"y": x.clamp(-1.5, 1.5)})
write(__file__, "clip_apart", {"activation": "clamp", "low": -0.25, "high": 1.5}, {"x": x}, {"y": x.clamp(-0.25, 1.5)})

times = random(3, 21)
for name, f in (("silu", silu), ("sigmoid", torch.sigmoid)):
    write(__file__, name + "_gate", {"activation": name}, {"x": x, "times": times}, {"y": f(x) * times})
    write(__file__, name + "_factor", {"activation": name, "factor": 0.5}, {"x": x, "times": times}, {"y": f(x) * times / 2})
