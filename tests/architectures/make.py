"""Writes tiny random models of every architecture with the PyPI package transformers, and their outputs.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors gguf
    venv/bin/python tests/architectures/make.py            writes all of models/
    venv/bin/python tests/architectures/make.py gpt2 bert  writes those whose names begin with gpt2 or bert

models/NAME has the files of save_pretrained(), or model.gguf, and golden.safetensors: a record of inputs and outputs of
Lamina's graphs, as `lamina compare --with` takes it. Sizes are uneven on purpose. Weights are stored in half precision and
computed with in double, so that only the stored outputs are rounded.
"""

import json
import shutil

import torch
import transformers
from safetensors.torch import load_file

from make_decoders import decoders, for_gguf, mixtures, seeing_decoders
from make_encoders import encoders
from make_gemma4 import gemma4_decoders
from make_hybrids import falcon_h1_decoders, gpt_oss, lfm2, recurrent_decoders, scanning_decoders
from make_jina import jina_encoders
from make_latent import latent_decoders
from make_layout import layouts
from make_proteins import proteins
from make_rwkv import rwkv_decoders
from make_translators import encoder_decoders
from tiny import here, is_wanted


gguf_names = {  # github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def interleaved(matrix, heads):
    """Permutes the rows of each head from halves (0 1 2 | 3 4 5) to pairs (0 3 | 1 4 | 2 5), as `llama` in GGUF does."""
    return matrix.reshape(heads, 2, -1, *matrix.shape[1:]).swapaxes(1, 2).reshape(matrix.shape)


def as_gguf(name, source):
    """Writes the model in models/SOURCE as a GGUF file. Its golden.safetensors is the same."""
    import gguf
    config = json.loads((here / source / "config.json").read_text())
    kind, heads, kv_heads = config["model_type"], config["num_attention_heads"], config["num_key_value_heads"]
    shutil.rmtree(here / name, ignore_errors=True)
    (here / name).mkdir()
    shutil.copy(here / source / "golden.safetensors", here / name)
    writer = gguf.GGUFWriter(here / name / "model.gguf", kind)
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "llama3":  # what frequencies are divided by, as the converter of llama.cpp writes it
        model = transformers.AutoModelForCausalLM.from_pretrained(here / source)
        plain = rope["rope_theta"] ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        writer.add_tensor("rope_freqs.weight", (plain / model.model.rotary_emb.inv_freq).to(torch.float32).numpy())
    for tensor, values in load_file(here / source / "model.safetensors").items():
        values = values.to(torch.float32).numpy()
        module, suffix = tensor.rsplit(".", 1)
        prefix = ""
        if module.startswith("model.layers."):
            number, module = module.removeprefix("model.layers.").split(".", 1)
            prefix = f"blk.{number}."
        if kind == "llama" and module in ("self_attn.q_proj", "self_attn.k_proj"):
            values = interleaved(values, heads if module.endswith("q_proj") else kv_heads)
        half = values.ndim == 2
        writer.add_tensor(f"{prefix}{gguf_names[module]}.{suffix}", values.astype("float16") if half else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    torch.manual_seed(7)
    decoders()
    mixtures()
    seeing_decoders()
    recurrent_decoders()
    scanning_decoders()
    falcon_h1_decoders()
    gpt_oss()
    lfm2()
    latent_decoders()
    gemma4_decoders()
    for_gguf()
    encoders()
    proteins()
    jina_encoders()
    layouts()
    encoder_decoders()
    rwkv_decoders()
    for name, source in {"gguf_llama": "llama", "gguf_llama3": "llama_llama3", "gguf_qwen2": "qwen2_full",
                         "gguf_qwen3": "qwen3_plain"}.items():
        if is_wanted(name):
            as_gguf(name, source)
