"""Writes a GGUF file of a Llama with random weights: for measuring speed at sizes of which no trained model is at hand.

    bench/environment
    build/bench/bin/python bench/random_llama.py 1.1b q4_0 llama-1.1b-q4_0.gguf

Sizes: 0.35b, 1.1b (as TinyLlama) and 7b (as Llama 2). Dtypes: those that Lamina reads, and q4_k_m, which mixes q4_k and
q6_k as llama.cpp does. All layers have the same random values, so that 7b takes seconds and little memory to write. The
file says nothing sensible, and is as fast as one that does.
"""

import argparse
import pathlib
import sys

import gguf
import numpy

VOCABULARY = 32000

# channels, hidden channels, layers, heads, heads of keys and values
SIZES = {"0.35b": (1024, 2816, 26, 16, 16), "1.1b": (2048, 5632, 22, 32, 4), "7b": (4096, 11008, 32, 32, 32)}

# How a block is stored: its dtype, and where its f16 numbers are that give all of its values their size. Everything
# else in it may have any bits.
BLOCKS = {
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, {0: 0.02 / 74}),
    "q4_0": (gguf.GGMLQuantizationType.Q4_0, {0: 0.02 / 4.6}),
    "q4_1": (gguf.GGMLQuantizationType.Q4_1, {0: 0.02 / 4.6, 2: -0.02 / 4.6 * 7.5}),
    "q5_0": (gguf.GGMLQuantizationType.Q5_0, {0: 0.02 / 9.2}),
    "q5_1": (gguf.GGMLQuantizationType.Q5_1, {0: 0.02 / 9.2, 2: -0.02 / 9.2 * 15.5}),
    "q4_k": (gguf.GGMLQuantizationType.Q4_K, {0: 0.02 / 4.6 / 32, 2: 0.02 / 4.6 * 7.5 / 32}),
    "q5_k": (gguf.GGMLQuantizationType.Q5_K, {0: 0.02 / 9.2 / 32, 2: 0.02 / 9.2 * 15.5 / 32}),
    "q6_k": (gguf.GGMLQuantizationType.Q6_K, {208: 0.02 / 18.5 / 74}),
    "q3_k": (gguf.GGMLQuantizationType.Q3_K, {108: 0.02 / 2.3 / 18.5}),
    "q2_k": (gguf.GGMLQuantizationType.Q2_K, {80: 0.02 / 1.1 / 8.8, 82: 0.02 / 1.1 * 1.5 / 8.8}),
    "iq4_nl": (gguf.GGMLQuantizationType.IQ4_NL, {0: 0.02 / 70}),
    "iq4_xs": (gguf.GGMLQuantizationType.IQ4_XS, {0: 0.02 / 70 / 18.5}),
    "iq3_s": (gguf.GGMLQuantizationType.IQ3_S, {0: 0.02 / 9.2 / 18.5}),
    "iq3_xxs": (gguf.GGMLQuantizationType.IQ3_XXS, {0: 0.02 / 37 / 4.6}),
    "iq2_xs": (gguf.GGMLQuantizationType.IQ2_XS, {0: 0.02 / 29 / 2.3}),
}
SINGLE = {"f32": (gguf.GGMLQuantizationType.F32, numpy.float32), "f16": (gguf.GGMLQuantizationType.F16, numpy.float16),
          "bf16": (gguf.GGMLQuantizationType.BF16, numpy.uint16)}


class Weights:
    """Random weights, each made once for every dtype and shape."""

    def __init__(self):
        self.random = numpy.random.default_rng(1)
        self.made = {}

    def of(self, dtype, rows, cols):
        key = dtype, rows, cols
        if key not in self.made:
            self.made[key] = self.blocks(*key) if dtype in BLOCKS else self.values(*key)
        return self.made[key]

    def blocks(self, dtype, rows, cols):
        kind, sizes = BLOCKS[dtype]
        values, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = self.random.integers(0, 256, (rows, cols // values, size), dtype=numpy.uint8)
        for at, number in sizes.items():
            blocks[..., at:at + 2] = numpy.array([number], numpy.float16).view(numpy.uint8)
        return blocks.reshape(rows, -1), kind

    def values(self, dtype, rows, cols):
        kind, stored = SINGLE[dtype]
        values = self.random.standard_normal((rows, cols), dtype=numpy.float32) * 0.02
        if dtype == "bf16":
            return (values.view(numpy.uint32) >> 16).astype(numpy.uint16).view(numpy.uint8).reshape(rows, -1), kind
        return values.astype(stored), kind


def dtype_of(mixture, name, layer, layers):
    """Of a matrix in a mixture of dtypes; q4_k_m as llama.cpp's tool `quantize` chooses them."""
    if mixture != "q4_k_m":
        return mixture
    first, last = layers // 8, 7 * layers // 8
    more_bits = layer is not None and (layer < first or layer >= last or (layer - first) % 3 == 2)
    return "q6_k" if name == "output" or (name in ("attn_v", "ffn_down") and more_bits) else "q4_k"


def vocabulary(writer):
    """That of a SentencePiece model: special tokens, all bytes, and pieces that no text has."""
    tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
    types = [2, 3, 3] + [6] * 256
    tokens += [b"piece%d" % i for i in range(VOCABULARY - len(tokens))]
    types += [1] * (VOCABULARY - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(VOCABULARY)])
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)


def write(path, size, mixture):
    channels, hidden, layers, heads, kv_heads = SIZES[size]
    of_keys = channels // heads * kv_heads
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"random {size} {mixture}")
    writer.add_context_length(16384)
    writer.add_embedding_length(channels)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(channels // heads)
    writer.add_vocab_size(VOCABULARY)
    vocabulary(writer)

    weights = Weights()

    def matrix(name, rows, cols, layer=None):
        values, kind = weights.of(dtype_of(mixture, name, layer, layers), rows, cols)
        writer.add_tensor(name + ".weight" if layer is None else f"blk.{layer}.{name}.weight", values, raw_dtype=kind)

    def norm(name):
        writer.add_tensor(name + ".weight", numpy.ones(channels, numpy.float32))

    matrix("token_embd", VOCABULARY, channels)
    for layer in range(layers):
        norm(f"blk.{layer}.attn_norm")
        matrix("attn_q", channels, channels, layer)
        matrix("attn_k", of_keys, channels, layer)
        matrix("attn_v", of_keys, channels, layer)
        matrix("attn_output", channels, channels, layer)
        norm(f"blk.{layer}.ffn_norm")
        matrix("ffn_gate", hidden, channels, layer)
        matrix("ffn_up", hidden, channels, layer)
        matrix("ffn_down", channels, hidden, layer)
    norm("output_norm")
    matrix("output", VOCABULARY, channels)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("dtype", choices=[*BLOCKS, *SINGLE, "q4_k_m"])
    parser.add_argument("path", type=pathlib.Path)
    options = parser.parse_args()
    part = options.path.with_name(options.path.name + ".part")
    write(part, options.size, options.dtype)
    part.rename(options.path)
    print(f"{options.path}: {options.path.stat().st_size / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
