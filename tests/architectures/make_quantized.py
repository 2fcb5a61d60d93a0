"""Writes tiny random models whose matrices are quantized, in the formats of published files, and their outputs.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors compressed-tensors bitsandbytes
    venv/bin/python tests/architectures/make_quantized.py            writes all of them
    venv/bin/python tests/architectures/make_quantized.py quant_awq  writes those whose names begin so

Integers and scales are drawn, so nothing is lost where they are multiplied: the matrices that transformers computes the
outputs with, in double, are those products.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from safetensors.torch import load_file, save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

from randomized import randomized
from tiny import here, ids, is_wanted, llama_like, save_golden


def sizes(**more):
    return llama_like(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2) | more


def scales(*shape, dtype=torch.float16):
    return (torch.rand(shape) * 0.05 + 0.01).to(dtype)


def words(integers, bits):
    """Unsigned integers along the last axis, from the lowest bits of words of 32 bits on; they may cross words."""
    bit = (integers.unsqueeze(-1) >> torch.arange(bits)) & 1
    bit = bit.flatten(-2)
    assert bit.shape[-1] % 32 == 0
    word = (bit.unflatten(-1, (-1, 32)).to(torch.int64) << torch.arange(32)).sum(-1)
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def gptq(bits, group, symmetric, reordered=False, version=1):
    """github.com/ModelCloud/GPTQModel, nn_modules/qlinear/torch.py: w[n, k] = scales[g[k], n] * (q[k, n] - z[g[k], n]);
    qweight is packed along k, qzeros along n and, in version 1, minus 1."""
    def quantize(module, rows, columns):
        size = columns if group == -1 else group
        count = columns // size
        order = torch.arange(columns) // size
        if reordered:
            order = order[torch.randperm(columns)]
        q = torch.randint(0, 2**bits, (columns, rows))
        z = torch.full((count, rows), 2**(bits - 1)) if symmetric else torch.randint(1, 2**bits, (count, rows))
        s = scales(count, rows) / 2**(bits - 4)
        product = s[order].double() * (q - z[order])
        if reordered or (bits == 8 and not symmetric):  # the scales of a row differ, or integers have 9 bits
            product = (s[order].float() * (q - z[order]).float()).half().double()
        return {module + ".qweight": words(q.T, bits).T.contiguous(),
                module + ".qzeros": words(z - (1 if version == 1 else 0), bits),
                module + ".scales": s, module + ".g_idx": order.to(torch.int32)}, product.T
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": reordered, "sym": symmetric,
              "checkpoint_format": "gptq" if version == 1 else "gptq_v2", "damp_percent": 0.01}
    return quantize, config


def awq(group):
    """github.com/casper-hansen/AutoAWQ, modules/linear/gemm.py: words have columns in this order."""
    order = [0, 2, 4, 6, 1, 3, 5, 7]

    def quantize(module, rows, columns):
        count = columns // group
        q, z, s = torch.randint(0, 16, (columns, rows)), torch.randint(0, 16, (count, rows)), scales(count, rows)
        packed = lambda values: words(values.unflatten(-1, (-1, 8))[..., order].flatten(-2), 4)
        product = s.double().repeat_interleave(group, 0) * (q - z.repeat_interleave(group, 0))
        return {module + ".qweight": packed(q), module + ".qzeros": packed(z), module + ".scales": s}, product.T
    return quantize, {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True,
                      "modules_to_not_convert": None}


def compressed(format, weights, activations=None):
    return {"quant_method": "compressed-tensors", "format": format, "quantization_status": "compressed",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": activations}},
            "ignore": ["lm_head"], "kv_cache_scheme": None}


def packed(bits, group, symmetric, dtype=torch.bfloat16, reordered=False):
    def quantize(module, rows, columns):
        half, count = 2**(bits - 1), columns // group
        order = torch.arange(columns) // group
        if reordered:
            order = order[torch.randperm(columns)]
        q = torch.randint(-half, half, (rows, columns)).to(torch.int8)
        z = torch.randint(-half, half, (rows, count)).to(torch.int8)
        s = scales(rows, count, dtype=dtype) / 2**(bits - 4)
        out = {module + ".weight_packed": pack_to_int32(q, bits), module + ".weight_scale": s,
               module + ".weight_shape": torch.tensor([rows, columns])}
        if not symmetric:
            out[module + ".weight_zero_point"] = pack_to_int32(z, bits, packed_dim=0)
        if reordered:
            out[module + ".weight_g_idx"] = order.to(torch.int32)
        integers = q.double() - (0 if symmetric else z[:, order].double())
        product = s[:, order].double() * integers
        if reordered:
            product = (s[:, order].float() * integers.float()).to(dtype).double()
        return out, product
    return quantize, compressed("pack-quantized", {
        "num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "group", "group_size": group,
        "actorder": "group" if reordered else None})


def byte_rows(dtype=torch.bfloat16):
    def quantize(module, rows, columns):
        q, s = torch.randint(-128, 128, (rows, columns)).to(torch.int8), scales(rows, 1, dtype=dtype) / 16
        return {module + ".weight": q, module + ".weight_scale": s}, q.double() * s.double()
    return quantize, compressed("int-quantized", {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel",
                                                  "group_size": None},
                                {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True})


def four_bits(nested, kind="nf4", block=64):
    """bitsandbytes, functional.py; what it computes is what backends/default/ops.py says."""
    def quantize(module, rows, columns):
        from bitsandbytes import functional
        from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
        codes, state = functional.quantize_4bit(torch.randn(rows, columns).bfloat16(), blocksize=block,
                                                compress_statistics=nested, quant_type=kind)
        parts = {module + ".weight": codes}
        parts |= {f"{module}.weight.{key}": value for key, value in state.as_dict(packed=True).items()}
        absmax = state.absmax
        if nested:
            blocks = torch.arange(absmax.numel()) // state.state2.blocksize
            absmax = state.state2.code[absmax.long()] * state.state2.absmax[blocks] + state.offset
        values = _dequantize_4bit_compute(codes.flatten(), absmax, state.code, block, (rows, columns), torch.bfloat16)
        return parts, values.double()
    return quantize, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
                      "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "bfloat16"}


def eight_bits(module, rows, columns):
    q, s = torch.randint(-127, 128, (rows, columns)).to(torch.int8), torch.rand(rows) * 2 + 0.5
    values = (q * s.view(-1, 1) * 7.874015718698502e-3).half()  # int8_vectorwise_dequant() there
    return {module + ".weight": q, module + ".SCB": s, module + ".weight_format": torch.tensor(0, dtype=torch.uint8)}, \
        values.double()


def random_fp8(rows, columns):
    return (torch.randn(rows, columns) * 8).to(torch.float8_e4m3fn)


def fp8(block):
    def quantize(module, rows, columns):
        grid = (rows // block[0], columns // block[1]) if block else ()
        q, s = random_fp8(rows, columns), scales(*grid, dtype=torch.float32)
        product = Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.bfloat16)
        return {module + ".weight": q, module + ".weight_scale_inv": s}, product.double()
    return quantize, {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": block}


def fp8_of_auto_fp8(module, rows, columns):
    tensors, product = fp8(None)[0](module, rows, columns)
    tensors[module + ".weight_scale"] = tensors.pop(module + ".weight_scale_inv")
    return tensors | {module + ".input_scale": torch.ones(1)}, product


def fp8_rows(module, rows, columns):
    q, s = random_fp8(rows, columns), scales(rows, 1, dtype=torch.bfloat16)
    return {module + ".weight": q, module + ".weight_scale": s, module + ".input_scale": scales(1)}, \
        (q.to(torch.bfloat16) * s).double()


def quantized(name, config, method, dtype):
    if not is_wanted(name):
        return
    quantize, how = method
    shutil.rmtree(here / name, ignore_errors=True)
    with tempfile.TemporaryDirectory() as plain:
        model = randomized(transformers.AutoModelForCausalLM.from_config(config), torch.float64).to(dtype)
        model.save_pretrained(here / name)
        file = here / name / "model.safetensors"
        stored, values = {}, {}
        for tensor, value in load_file(file).items():
            module = tensor.removesuffix(".weight")
            if value.ndim == 2 and ("_proj" in module or "experts" in module):
                parts, value = quantize(module, *value.shape)
                stored |= parts
            else:
                stored[tensor] = value
            values[tensor] = value.double()
        save_file({key: value.contiguous() for key, value in stored.items()}, file)
        (here / name / "generation_config.json").unlink(missing_ok=True)
        shutil.copy(here / name / "config.json", plain)
        settings = json.loads((here / name / "config.json").read_text()) | {"quantization_config": how}
        (here / name / "config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
        save_file({key: value.contiguous() for key, value in values.items()}, pathlib.Path(plain) / "model.safetensors")
        model = transformers.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float64).eval()
        model.config._experts_implementation = "eager"
        tokens = ids(2, 13)
        with torch.no_grad():
            save_golden(here / name, {"decode": ({"ids": tokens, "position": torch.zeros(2, dtype=torch.int32)},
                                                 {"logits": model(input_ids=tokens).logits})})


if __name__ == "__main__":
    torch.manual_seed(11)
    T = transformers
    half, bfloat = torch.float16, torch.bfloat16
    llama = lambda: T.LlamaConfig(**sizes())
    qwen2 = lambda: T.Qwen2Config(**sizes())
    quantized("quant_gptq", llama(), gptq(4, 32, True), half)
    quantized("quant_gptq_zeros", qwen2(), gptq(4, 32, False), half)
    quantized("quant_gptq_reordered", qwen2(), gptq(4, 32, False, reordered=True, version=2), half)
    quantized("quant_gptq_8", llama(), gptq(8, -1, True), half)
    quantized("quant_gptq_8_zeros", llama(), gptq(8, 32, False), half)
    quantized("quant_gptq_3", T.LlamaConfig(**sizes(intermediate_size=128)), gptq(3, 64, True, version=2), half)
    moe = T.MixtralConfig(**sizes(num_local_experts=4, num_experts_per_tok=2, sliding_window=None))
    quantized("quant_gptq_experts", moe, gptq(4, 32, False), half)
    quantized("quant_awq", qwen2(), awq(32), half)
    quantized("quant_packed", llama(), packed(4, 32, True), bfloat)
    quantized("quant_packed_zeros", qwen2(), packed(4, 32, False, dtype=half), half)
    quantized("quant_packed_reordered", llama(), packed(4, 32, True, reordered=True), bfloat)
    quantized("quant_packed_8", llama(), packed(8, 32, True), bfloat)
    quantized("quant_bytes", qwen2(), byte_rows(), bfloat)
    quantized("quant_bytes_f32", qwen2(), byte_rows(torch.float32), bfloat)
    quantized("quant_fp8", llama(), fp8([16, 32]), bfloat)
    quantized("quant_fp8_whole", qwen2(), fp8(None), bfloat)
    quantized("quant_auto_fp8", llama(), (fp8_of_auto_fp8, {
        "quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]}), bfloat)
    quantized("quant_nf4", llama(), four_bits(True), bfloat)
    quantized("quant_fp4", qwen2(), four_bits(False, "fp4", 128), bfloat)
    quantized("quant_int8", llama(), (eight_bits, {"quant_method": "bitsandbytes", "load_in_8bit": True}), half)
    float_weights = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}
    quantized("quant_fp8_rows", llama(), (fp8_rows, compressed("float-quantized", float_weights)), bfloat)
