"""Writes models of models/ again as PyTorch's own files: a whole one in the format before PyTorch 1.6, and one in parts.

    venv/bin/python tests/architectures/make_torch.py

They have the golden.safetensors of the models that they are made from.
"""

import collections
import json
import shutil

import torch
from safetensors.torch import load_file

from tiny import here


def copied(name, source):
    """A folder with the files of `source` but its weights, which are returned."""
    shutil.rmtree(here / name, ignore_errors=True)
    shutil.copytree(here / source, here / name, ignore=shutil.ignore_patterns("model.safetensors"))
    return collections.OrderedDict(load_file(here / source / "model.safetensors"))


torch.save(copied("torch_bert", "bert"), here / "torch_bert" / "pytorch_model.bin",
           _use_new_zipfile_serialization=False)

weights = copied("torch_qwen2", "qwen2")
names = list(weights)
parts = {f"pytorch_model-0000{i + 1}-of-00002.bin": names[i::2] for i in range(2)}
for file, held in parts.items():
    # Matrices as views of their transposes, as after torch.nn.Linear of a transposed weight.
    values = {name: weights[name].T.contiguous().T if weights[name].ndim == 2 else weights[name] for name in held}
    torch.save(values, here / "torch_qwen2" / file)
index = {"metadata": {"total_size": sum(w.nbytes for w in weights.values())},
         "weight_map": {name: file for file, held in parts.items() for name in held}}
(here / "torch_qwen2" / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n")
