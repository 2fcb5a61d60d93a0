"""Tiny models of RWKV-7, which transformers does not have: files as flash-linear-attention writes them, and the outputs of
the authors' own package, rwkv, in float32 (venv/bin/pip install rwkv)."""

import importlib.metadata
import json
import os
import shutil
import tempfile

import torch
from safetensors.torch import save_file

from tiny import here, ids, is_wanted, save_golden, vocabulary

RANKS = dict(decay=5, a=4, v=3, gate=6)
LORAS = {"w": "decay", "a": "a", "v": "v", "g": "gate"}
OF_LAYERS = {"attn.r_proj": "att.receptance", "attn.k_proj": "att.key", "attn.v_proj": "att.value", "attn.o_proj": "att.output",
             "attn.g_norm": "att.ln_x", "attn_norm": "ln1", "ffn_norm": "ln2", "pre_norm": "ln0", "ffn.key": "ffn.key",
             "ffn.value": "ffn.value"}
OF_MODEL = {"model.embeddings": "emb", "model.norm": "ln_out", "lm_head": "head"}


def weights(config):
    """As flash-linear-attention names them, drawn so that no gate is all but closed."""
    width, heads, hidden = config["hidden_size"], config["heads"], config["hidden"]
    normal = lambda *shape: torch.randn(*shape) * 0.4
    out = {"model.embeddings.weight": normal(vocabulary, width), "lm_head.weight": normal(vocabulary, width)}
    norms = ["model.norm", "model.layers.0.pre_norm"]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        norms += [layer + name for name in ("attn_norm", "ffn_norm", "attn.g_norm")]
        out |= {layer + f"attn.x_{letter}": torch.rand(1, 1, width) for letter in "rwkvag"}
        out |= {layer + f"attn.{name}_proj.weight": normal(width, width) for name in "rkvo"}
        out |= {layer + "attn.k_k": 1 + normal(width), layer + "attn.k_a": 1 + normal(width),
                layer + "attn.r_k": normal(heads, width // heads), layer + "ffn.x_k": torch.rand(width),
                layer + "ffn.key.weight": normal(hidden, width), layer + "ffn.value.weight": normal(width, hidden)}
        for letter, rank in LORAS.items():
            lora, rank = layer + f"attn.{letter}_lora.lora.", RANKS[rank]
            if letter == "v" and i == 0:
                continue
            out |= {lora + "0.weight": normal(rank, width), lora + "2.weight": normal(width, rank)}
            if letter != "g":
                out[lora + "2.bias"] = normal(width)
    for norm in norms:
        out |= {norm + ".weight": 1 + normal(width) * 0.5, norm + ".bias": normal(width)}
    return out


def as_the_authors(stored):
    """Under the names of the authors' files, in float32."""
    out = {}
    for name, values in stored.items():
        values = values.float()
        module, _, kind = name.rpartition(".")
        if module in OF_MODEL:
            out[f"{OF_MODEL[module]}.{kind}"] = values
            continue
        number, _, rest = name.removeprefix("model.layers.").partition(".")
        module, _, kind = rest.rpartition(".")
        if module in OF_LAYERS:
            rest = f"{OF_LAYERS[module]}.{kind}"
        elif "_lora" in rest:
            letter, place = rest[5], {"0.weight": 1, "2.weight": 2, "2.bias": 0}[rest.rpartition("lora.")[2]]
            rest, values = f"att.{letter}{place}", values.T.contiguous() if place else values
        else:
            rest = rest.replace("attn.", "att.")
        out[f"blocks.{number}.{rest}"] = values
    return out


def logits(stored, head_dim, tokens):
    os.environ |= {"RWKV_V7_ON": "1", "RWKV_JIT_ON": "0", "RWKV_CUDA_ON": "0"}
    torch.jit.script = torch.jit.script_method = lambda function: function  # which would not see the function below
    from rwkv.model import RWKV
    group_norm = torch.nn.functional.group_norm
    # It has 64e-5, which is right for heads of 64 channels.
    torch.nn.functional.group_norm = lambda *inputs, eps, **more: group_norm(*inputs, eps=1e-5 * head_dim, **more)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        torch.save(as_the_authors(stored), folder + "/model.pth")
        model = RWKV(model=folder + "/model", strategy="cpu fp32")
        out = torch.stack([model.forward(row.tolist(), None, full_output=True)[0] for row in tokens])
    torch.nn.functional.group_norm = group_norm
    return out


def rwkv7(name, width=40, head_dim=20, hidden=44, dtype=torch.float16, older=False, tied=False, biased=True,
          by_count=False, layers=3, **more):
    if not is_wanted(name):
        return
    sizes = dict(hidden_size=width, heads=width // head_dim, hidden=hidden, num_hidden_layers=layers)
    stored = {key: values.to(dtype) for key, values in weights(sizes).items()}
    if tied:
        stored["lm_head.weight"] = stored["model.embeddings.weight"].clone()
    if not biased:
        stored |= {key: torch.zeros_like(values) for key, values in stored.items()
                   if key.endswith("norm.bias") and "g_norm" not in key}
    tokens, length = ids(2, 13), 13
    inputs = {"ids": tokens, "position": torch.zeros(2, dtype=torch.int32),
              "target_lengths": torch.full((2,), length, dtype=torch.int32)}
    golden = {"decode": (inputs, {"logits": logits(stored, head_dim, tokens)})}
    if tied:
        del stored["lm_head.weight"]
    if not biased:
        stored = {key: values for key, values in stored.items() if not key.endswith("norm.bias") or "g_norm" in key}
    if older:  # the first version of these files, and what some have for the first layer
        for i in range(layers):
            attn = f"model.layers.{i}.attn."
            stored[attn + "x_x"] = torch.stack([stored.pop(attn + f"x_{letter}").flatten() for letter in "rwkvag"])
        stored |= {key.replace("layers.1", "layers.0"): values.clone() for key, values in stored.items()
                   if key.startswith("model.layers.1.attn.v_lora")}
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file({key: values.contiguous() for key, values in stored.items()}, folder / "model.safetensors")
    config = dict(
        a_low_rank_dim=RANKS["a"], architectures=["RWKV7ForCausalLM"], attn=None, attn_mode="chunk", bos_token_id=0,
        decay_low_rank_dim=RANKS["decay"], dtype=str(dtype).removeprefix("torch."), eos_token_id=0, fuse_cross_entropy=True,
        fuse_norm=False, gate_low_rank_dim=RANKS["gate"], head_dim=head_dim, hidden_act="sqrelu", hidden_ratio=4.0,
        hidden_size=width, intermediate_size=hidden, max_position_embeddings=64, model_type="rwkv7", norm_bias=biased,
        norm_eps=1e-5, norm_first=True, num_heads=None, num_hidden_layers=layers, tie_word_embeddings=tied, use_cache=True,
        v_low_rank_dim=RANKS["v"], value_dim=[width] * layers, vocab_size=vocabulary)
    if by_count:
        more |= dict(head_dim=None, num_heads=width // head_dim)
    (folder / "config.json").write_text(json.dumps(config | more, indent=2) + "\n")
    save_golden(folder, golden, "rwkv " + importlib.metadata.version("rwkv"))


def rwkv_decoders():
    rwkv7("rwkv7")
    rwkv7("rwkv7_older", older=True, tied=True, hidden=64, intermediate_size=None, hidden_ratio=1.5, fuse_norm=True)
    rwkv7("rwkv7_unbiased", biased=False, width=36, head_dim=9, by_count=True, value_dim=36)
    rwkv7("rwkv7_plain", width=128, head_dim=64, hidden=64, layers=2)  # llama.cpp takes heads of 64 channels
