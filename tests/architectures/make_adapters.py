"""Writes adapters of models of models/ in adapters/, and what transformers computes with them.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors peft gguf
    venv/bin/python tests/architectures/make_adapters.py

adapters/NAME is a folder of PEFT or has adapter.gguf, and golden.safetensors: a record of the outputs of the model that
merge_and_unload() makes, in double. "base" says which model of models/ it changes.
"""

import json
import pathlib
import shutil

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

from make import gguf_names, interleaved
from tiny import here, ids, save_golden

adapters = here.parent / "adapters"


def made(name, base, config, model_class=transformers.AutoModelForCausalLM, output=None, dtype=torch.float32, merges=True):
    shutil.rmtree(adapters / name, ignore_errors=True)
    model = model_class.from_pretrained(here / base, dtype=torch.float64)
    model = peft.get_peft_model(model, config).eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if "lora_" in parameter_name or "modules_to_save" in parameter_name:
                parameter.copy_((torch.randn(parameter.shape) * 0.3).to(dtype))
    # Stored in less than double, which the values have been rounded to.
    with torch.no_grad():
        state = {key: value.to(dtype) for key, value in peft.get_peft_model_state_dict(model).items()}
        model.save_pretrained(adapters / name)
        save_file({key: value.contiguous() for key, value in state.items()}, adapters / name / "adapter_model.safetensors")
        (adapters / name / "README.md").unlink(missing_ok=True)
        file = adapters / name / "adapter_config.json"
        settings = json.loads(file.read_text()) | {"base_model_name_or_path": base}
        file.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
        merged = model.merge_and_unload() if merges else model
        tokens = ids(2, 13)
        if output:
            save_golden(adapters / name, output(merged, tokens))
        else:
            save_golden(adapters / name, {"decode": ({"ids": tokens, "position": torch.zeros(2, dtype=torch.int32)},
                                                     {"logits": merged(input_ids=tokens).logits})})


def of_bert(model, tokens):
    lengths = torch.tensor([13, 13], dtype=torch.int32)
    types = torch.zeros_like(tokens)
    return {"encode": ({"ids": tokens, "lengths": lengths, "token_types": types},
                       {"logits": model(input_ids=tokens, token_type_ids=types).logits})}


def as_gguf(name, source, base):
    """As llama.cpp's convert_lora_to_gguf.py writes it: B is permuted like the matrix that it changes. A matrix of one row
    has one size, as ggml writes it."""
    import gguf
    shutil.rmtree(adapters / name, ignore_errors=True)
    (adapters / name).mkdir(parents=True)
    shutil.copy(adapters / source / "golden.safetensors", adapters / name)
    config = json.loads((here / base / "config.json").read_text())
    settings = json.loads((adapters / source / "adapter_config.json").read_text())
    writer = gguf.GGUFWriter(adapters / name / "adapter.gguf", config["model_type"])
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, settings["lora_alpha"])
    for key, value in load_file(adapters / source / "adapter_model.safetensors").items():
        key = key.removeprefix("base_model.model.")
        number, module = key.removeprefix("model.layers.").split(".", 1)
        module, kind, _ = module.rsplit(".", 2)
        values = value.float().numpy()
        if kind == "lora_B" and config["model_type"] == "llama" and module in ("self_attn.q_proj", "self_attn.k_proj"):
            values = interleaved(values, config["num_attention_heads" if "q_proj" in module else "num_key_value_heads"])
        values = values[0] if len(values) == 1 else values
        writer.add_tensor(f"blk.{number}.{gguf_names[module]}.weight.{kind.lower()}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    torch.manual_seed(13)
    L = peft.LoraConfig
    linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    made("llama", "llama", L(r=3, lora_alpha=5, target_modules=linear, task_type="CAUSAL_LM"), dtype=torch.float16)
    made("qwen2_patterns", "qwen2_full",
         L(r=4, lora_alpha=7, use_rslora=True, target_modules=["q_proj", "down_proj", "lm_head", "embed_tokens"],
           rank_pattern={"layers.1.self_attn.q_proj": 2}, alpha_pattern={"down_proj": 3}, task_type="CAUSAL_LM"))
    made("gpt2", "gpt2", L(r=2, lora_alpha=4, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True,
                           task_type="CAUSAL_LM"), dtype=torch.bfloat16)
    made("bert_texts", "bert_texts", L(r=2, lora_alpha=2, target_modules=["query", "value"], task_type="SEQ_CLS",
                                       modules_to_save=["classifier"]),
         transformers.AutoModelForSequenceClassification, of_bert)
    as_gguf("gguf_llama", "llama", "llama")
    # Models whose head shares the table of embeddings, until one of the two is changed. Merging writes into both.
    made("tied_head", "llama_tied_biased", L(r=2, lora_alpha=3, target_modules=["q_proj"], modules_to_save=["lm_head"],
                                 task_type="CAUSAL_LM"), merges=False)
    made("tied_table", "llama_tied_biased", L(r=2, lora_alpha=3, target_modules=["q_proj", "embed_tokens"], task_type="CAUSAL_LM"),
         merges=False)
    made("tied_both", "llama_tied_biased", L(r=2, lora_alpha=3, target_modules=["lm_head"], modules_to_save=["embed_tokens"],
                                 task_type="CAUSAL_LM"), merges=False)
    made("llama_rank_1", "llama", L(r=1, lora_alpha=2, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM"))
    as_gguf("gguf_llama_rank_1", "llama_rank_1", "llama")
