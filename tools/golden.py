"""Golden files: a layer's inputs, weights and outputs as PyTorch computes them.

Every plugins/LAYER/golden/make.py writes the *.safetensors files next to it with write(); tests/golden compares the
layer's reference with them. PyTorch computes in float64 from values that float32 (or the weight's own type) represents
exactly, so only the stored outputs are rounded.

    /usr/bin/python3 tools/golden.py             writes all files
    /usr/bin/python3 tools/golden.py attention   writes those of some layers

Needs Python 3.9, PyTorch and NumPy (Debian: python3-torch).
"""

import json
import pathlib
import runpy
import sys

import torch
from from_torch import safetensors


def random(*shape, dtype=torch.float32, scale=1.0):
    """Normal random values that `dtype` represents exactly, as float64."""
    return (torch.randn(*shape, dtype=torch.float64) * scale).to(dtype).to(torch.float64)


def parameters(module):
    """Gives every parameter of a module, including biases and norms, float64 values that float32 represents exactly."""
    module = module.to(torch.float64).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(random(*parameter.shape, scale=0.5))
    return module


def write(make_file, case, params, inputs, outputs, weights=None, states=None, states_after=None):
    """Writes CASE.safetensors beside make_file, whose folder is plugins/LAYER/golden.

    `params` are the layer's parameters as in model.json; all others map ports to tensors, stored as "in.PORT",
    "weight.PORT", "out.PORT", "state.PORT" (before) and "state_after.PORT". float64 becomes F32, integers and booleans
    become I32.
    """
    folder = pathlib.Path(make_file).resolve().parent
    tensors = {}
    roles = {"in": inputs, "weight": weights, "out": outputs, "state": states, "state_after": states_after}
    for role, ports in roles.items():
        for port, tensor in (ports or {}).items():
            tensors[f"{role}.{port}"] = stored(tensor.detach())
    metadata = {"layer": folder.parent.name, "params": json.dumps(params), "torch": torch.__version__}
    (folder / f"{case}.safetensors").write_bytes(safetensors(tensors, metadata))


def stored(tensor):
    """The tensor in a dtype that the file supports. Only outputs may be rounded."""
    if tensor.dtype == torch.float64:
        tensor = tensor.to(torch.float32)
    elif not tensor.dtype.is_floating_point:
        tensor = tensor.to(torch.int32)
    return tensor.contiguous()


def main():
    sys.modules["golden"] = sys.modules["__main__"]
    plugins = pathlib.Path(__file__).resolve().parent.parent / "plugins"
    for script in sorted(plugins.glob("*/golden/make.py")):
        if len(sys.argv) == 1 or script.parent.parent.name in sys.argv[1:]:
            torch.manual_seed(20170612)
            runpy.run_path(str(script), run_name="__main__")
            print(script.parent.parent.name, *sorted(file.name for file in script.parent.glob("*.safetensors")))


if __name__ == "__main__":
    main()
