"""What makes tiny random models with the PyPI package transformers: make.py and make_images.py use it."""

import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

from randomized import is_computed, randomized

here = pathlib.Path(__file__).parent / "models"
vocabulary = 53


def is_wanted(name):
    return len(sys.argv) == 1 or any(name.startswith(start) for start in sys.argv[1:])


def save_golden(folder, graphs, made_by="transformers " + transformers.__version__):
    """`graphs`: {name: (inputs, outputs)}, in the order in which they run."""
    as_stored = lambda v: (v.to(torch.float32) if v.is_floating_point() else v.to(torch.int32)).contiguous()
    tensors = {f"{kind}.{graph}.{name}": as_stored(value) for graph, both in graphs.items()
               for kind, values in zip(("in", "out"), both) for name, value in values.items()}
    save_file(tensors, folder / "golden.safetensors",
              metadata={"graphs": " ".join(graphs), "made_by": made_by})


def save(name, model, graphs, dtype=torch.float16):
    """Saves the model and its golden file, and returns whether it was selected. `graphs`: {name: (inputs, the outputs as a
    function of the model in double)}."""
    if not is_wanted(name):
        return False
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}  # frequencies: never in half precision
    buffers |= {name: torch.nn.Parameter(p.clone()) for name, p in model.named_parameters() if is_computed(model, name)}
    model = randomized(model, torch.float64).to(dtype).eval()
    model.save_pretrained(folder)
    if not model.config.is_encoder_decoder:
        (folder / "generation_config.json").unlink(missing_ok=True)
    model.to(torch.float64)
    for name, buffer in buffers.items():
        module, _, last = name.rpartition(".")
        setattr(model.get_submodule(module), last, buffer)
    with torch.no_grad():
        save_golden(folder, {graph: (inputs, outputs(model)) for graph, (inputs, outputs) in graphs.items()})
    return True


def ids(batch, length):
    return torch.randint(3, vocabulary, (batch, length))


def llama_like(**more):
    return dict(vocab_size=vocabulary, hidden_size=36, intermediate_size=44, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0) | more


def rope(kind, **more):
    return {"rope_type": kind, "rope_theta": 500.0} | more
