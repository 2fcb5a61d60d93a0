"""Writes the files of PyTorch that torch_file_test.cpp reads, and expected.safetensors with what they hold.

    python3 -m venv venv && venv/bin/pip install torch safetensors numpy
    venv/bin/python tests/unit/model/torch/make.py
"""

import collections
import io
import pathlib
import zipfile

import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent
torch.manual_seed(3)


def tensors():
    """Everything that state_dicts hold, and views of every kind."""
    base = torch.randn(6, 8)
    return collections.OrderedDict([
        ("matrix", torch.randn(3, 5)), ("half", torch.randn(7).half()), ("bfloat", torch.randn(2, 2, 3).bfloat16()),
        ("integers", torch.arange(-2, 4, dtype=torch.int32)), ("scalar", torch.tensor(2.5)),
        ("empty", torch.empty(0, 4)), ("base", base), ("same", base), ("rows", base[2:4]), ("columns", base[:, 1:6:2]),
        ("transposed", base.T), ("permuted", torch.randn(2, 3, 4).half().permute(2, 0, 1)),
        ("one_row", base[1:2].expand(1, 8)), ("parameter", torch.nn.Parameter(torch.randn(4))),
        ("positions", torch.arange(5).expand(1, -1)), ("mask", torch.ones(2, 2, dtype=torch.bool)),
        ("double", torch.randn(2, dtype=torch.float64)), ("doubles", torch.randn(2, 3, dtype=torch.float64).T)])


state = tensors()
state._metadata = collections.OrderedDict([("", {"version": 1}), ("layer", {"version": 2})])
torch.save(state, here / "zip.bin")
torch.save(dict(state), here / "legacy.bin", _use_new_zipfile_serialization=False)
save_file({name: value.detach().contiguous().clone() for name, value in state.items()}, here / "expected.safetensors")

torch.save({"model": {"weight": torch.zeros(1)}}, here / "nested.bin")
torch.save(torch.nn.Linear(1, 1), here / "module.bin")
torch.save({"a": torch.ones(1), "epoch": 3}, here / "epoch.bin")
with zipfile.ZipFile(here / "zip.bin") as source, zipfile.ZipFile(here / "deflated.bin", "w", zipfile.ZIP_DEFLATED) as out:
    for name in source.namelist():
        out.writestr(name, source.read(name))
small = io.BytesIO()
torch.save({"weight": torch.ones(2)}, small)
with zipfile.ZipFile(small) as source, zipfile.ZipFile(here / "big_endian.bin", "w") as out:
    for name in source.namelist():
        out.writestr(name, b"big" if name.endswith("byteorder") else source.read(name))
