"""Writes described/NAME: a tiny random model of a type that only examples/NAME describes, and its outputs, as make.py does.

    venv/bin/python tests/architectures/make_described.py
"""

import pathlib
import shutil

import torch
import transformers

import tiny

tiny.here = pathlib.Path(__file__).parent / "described"

if __name__ == "__main__":
    torch.manual_seed(7)
    shutil.rmtree(tiny.here, ignore_errors=True)
    config = transformers.SeedOssConfig(**tiny.llama_like(head_dim=8, rms_norm_eps=1e-5, rope_parameters=tiny.rope(
        "yarn", factor=4.0, original_max_position_embeddings=16)))
    ids = tiny.ids(2, 7)
    tiny.save("seed_oss", transformers.SeedOssForCausalLM(config),
              {"decode": ({"ids": ids, "position": torch.zeros(2, dtype=torch.int32)},
                          lambda model: {"logits": model(ids).logits})})
