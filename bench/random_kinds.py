"""Writes GGUF files of models of each kind with random weights in q8_0, for bench/llama_cpp.py.

    bench/environment
    build/bench/bin/pip install transformers safetensors
    build/bench/bin/python bench/random_kinds.py build/bench/llama_cpp_python-*/vendor/llama.cpp FOLDER [KIND...]

Models of 0.2 to 0.4 B are made by transformers, but for RWKV-7, and converted by llama.cpp's own converter. They say
nothing sensible, and are as fast as ones that do.
"""

import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.torch import save_file

sys.path[1:1] = [sys.argv[1], sys.argv[1] + "/gguf-py"]  # whose gguf is as new as the converter
import gguf
from conversion import ModelBase, get_model_class

from random_llama import VOCABULARY, vocabulary

COMMON = dict(vocab_size=VOCABULARY, hidden_size=1024, max_position_embeddings=16384, bos_token_id=1, eos_token_id=2)
ATTENDING = COMMON | dict(num_attention_heads=16, num_key_value_heads=4, head_dim=64)
T = transformers
KINDS = {
    "llama": lambda: T.LlamaConfig(**ATTENDING, num_hidden_layers=16, intermediate_size=3072),
    "gemma3": lambda: T.Gemma3TextConfig(**ATTENDING, num_hidden_layers=16, intermediate_size=3072, sliding_window=512),
    "qwen3_moe": lambda: T.Qwen3MoeConfig(**ATTENDING, num_hidden_layers=8, moe_intermediate_size=512, num_experts=24,
                                          num_experts_per_tok=4),
    "deepseek_v3": lambda: T.DeepseekV3Config(
        **COMMON, num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=8, intermediate_size=2048,
        moe_intermediate_size=512, n_routed_experts=24, num_experts_per_tok=4, n_shared_experts=1, n_group=1, topk_group=1,
        first_k_dense_replace=1, q_lora_rank=None, kv_lora_rank=256, qk_nope_head_dim=64, qk_rope_head_dim=32, v_head_dim=64),
    "qwen3_5_text": lambda: T.Qwen3_5TextConfig(
        **ATTENDING, num_hidden_layers=16, intermediate_size=2560, linear_num_key_heads=8, linear_num_value_heads=16,
        linear_key_head_dim=64, linear_value_head_dim=64),
    "mamba2": lambda: T.Mamba2Config(
        vocab_size=VOCABULARY, hidden_size=1024, num_hidden_layers=24, num_heads=32, head_dim=64, n_groups=1, bos_token_id=1,
        eos_token_id=2, pad_token_id=0),
    "mamba": lambda: T.MambaConfig(vocab_size=VOCABULARY, hidden_size=1024, num_hidden_layers=24, bos_token_id=1,
                                   eos_token_id=2, pad_token_id=0),
    "lfm2": lambda: T.Lfm2Config(**COMMON, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=16,
                                 block_ff_dim=4096, intermediate_size=4096),
    "rwkv7": None,
}


def rwkv7(folder, layers=16, heads=16):
    """As flash-linear-attention writes it."""
    width, ranks = 64 * heads, {"w": 64, "a": 64, "v": 32, "g": 128}
    matrix = lambda *shape: torch.randn(*shape) * 0.02
    tensors = {"model.embeddings.weight": matrix(VOCABULARY, width), "lm_head.weight": matrix(VOCABULARY, width)}
    norms = ["model.norm", "model.layers.0.pre_norm"]
    for i in range(layers):
        layer = f"model.layers.{i}."
        norms += [layer + name for name in ("attn_norm", "ffn_norm", "attn.g_norm")]
        tensors |= {layer + f"attn.x_{letter}": torch.rand(1, 1, width) for letter in "rwkvag"}
        tensors |= {layer + f"attn.{name}_proj.weight": matrix(width, width) for name in "rkvo"}
        tensors |= {layer + "attn.k_k": torch.ones(width), layer + "attn.k_a": torch.ones(width),
                    layer + "attn.r_k": matrix(heads, 64), layer + "ffn.x_k": torch.rand(width),
                    layer + "ffn.key.weight": matrix(4 * width, width), layer + "ffn.value.weight": matrix(width, 4 * width)}
        for letter, rank in ranks.items():
            lora = layer + f"attn.{letter}_lora.lora."
            tensors |= {lora + "0.weight": matrix(rank, width), lora + "2.weight": matrix(width, rank)}
            if letter != "g":
                tensors[lora + "2.bias"] = matrix(width)
    for norm in norms:
        tensors |= {norm + ".weight": torch.ones(width), norm + ".bias": torch.zeros(width)}
    save_file(tensors, folder / "model.safetensors")
    config = dict(
        architectures=["RWKV7ForCausalLM"], model_type="rwkv7", hidden_size=width, head_dim=64, intermediate_size=4 * width,
        num_hidden_layers=layers, vocab_size=VOCABULARY, norm_eps=1e-5, norm_bias=True, norm_first=True, attn=None,
        hidden_act="sqrelu", decay_low_rank_dim=ranks["w"], a_low_rank_dim=ranks["a"], v_low_rank_dim=ranks["v"],
        gate_low_rank_dim=ranks["g"], bos_token_id=1, eos_token_id=2)
    (folder / "config.json").write_text(json.dumps(config))


def main():
    folder, *kinds = sys.argv[2:]
    torch.manual_seed(7)
    for kind in kinds or KINDS:
        with tempfile.TemporaryDirectory() as made, torch.inference_mode():
            made = pathlib.Path(made)
            if KINDS[kind]:
                model = transformers.AutoModelForCausalLM.from_config(KINDS[kind](), dtype=torch.float16)
                model.save_pretrained(made)
                del model
            else:
                rwkv7(made)
            words = {"model": {"vocab": {f"w{i}": i for i in range(VOCABULARY)}}, "added_tokens": []}
            (made / "tokenizer.json").write_text(json.dumps(words))  # which the converter of Gemma 3 counts
            settings = ModelBase.load_hparams(made, False)
            converter = get_model_class(settings["architectures"][0])
            converter.set_vocab = lambda self: vocabulary(self.gguf_writer)
            converter.no_mtp = True
            file = pathlib.Path(folder) / f"{kind}-q8_0.gguf"
            converter(made, gguf.LlamaFileType.MOSTLY_Q8_0, file, hparams=settings).write()
            print(f"{file}: {file.stat().st_size >> 20} MiB", flush=True)


if __name__ == "__main__":
    main()
