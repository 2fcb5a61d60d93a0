"""Writes GGUF pairs of tiny models that see, a model and its projector, with llama.cpp's own converter, as models/gguf_NAME,
and what transformers answers about images, as seeing/projectors.json.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers safetensors gguf pillow
    venv/bin/pip download --no-binary :all: --no-deps llama-cpp-python && tar xzf llama_cpp_python-*.tar.gz
    venv/bin/python tests/architectures/make_projectors.py llama_cpp_python-*/vendor/llama.cpp

The models are those of make_seeing.py and make_any_size.py, with settings that GGUF files can say, and what they compute is
held to transformers. The converter of LLaVA's projector is older than transformers 5, so its tensors are renamed here.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import sys
import tempfile

LLAMA_CPP = sys.argv.pop(1)
sys.path[1:1] = [LLAMA_CPP, LLAMA_CPP + "/gguf-py"]

import gguf
import torch
import transformers as T
from conversion import ModelBase, get_model_class
from safetensors.torch import load_file, save_file

import make_any_size
import make_gemma4_sees
import make_pixtral
import make_seeing
import tiny
from make_decoders import turn_experts
from make_seeing import vision

here = pathlib.Path(__file__).parent


def tiny_models():
    """Writes the folders of Hugging Face."""
    # With these seeds the two likeliest tokens of each step are far apart, so that one step of 255 in a pixel changes no
    # answer.
    torch.manual_seed(37)
    make_seeing.llava("llava", T.LlamaConfig(**tiny.llama_like()), vision(image_size=16))
    torch.manual_seed(38)
    make_seeing.gemma3("gemma3", 9, 2, vision(T.SiglipVisionConfig, image_size=24, vision_use_head=False),
                       query_pre_attn_scalar=8, num_hidden_layers=6, layer_types=None)
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=4, intermediate_size=52, patch_size=3)
    torch.manual_seed(8)
    make_seeing.idefics3("smolvlm", "SmolVLM", tower | dict(image_size=12), 2, 36)
    torch.manual_seed(8)
    make_seeing.internvl("internvl", T.Qwen2Config(**tiny.llama_like(max_position_embeddings=256)), dict(
        hidden_size=40, num_hidden_layers=4, num_attention_heads=4, intermediate_size=52, image_size=[12, 12],
        patch_size=[3, 3]), 12, 6, tie_word_embeddings=False)
    windowed = dict(depth=3, hidden_size=24, num_heads=2, intermediate_size=20, out_hidden_size=48)
    sizes = dict(size={"shortest_edge": 8 * 64, "longest_edge": 4096 * 64})  # as llama.cpp has them
    torch.manual_seed(38)
    make_any_size.seeing("qwen2_5_vl", T.Qwen2_5_VLForConditionalGeneration(make_any_size.whole(
        T.Qwen2_5_VLConfig, windowed | dict(window_size=112, fullatt_block_indexes=[1]))), [(32, 4), (4, 2)], **sizes)
    torch.manual_seed(38)
    make_any_size.seeing("qwen2_vl", T.Qwen2VLForConditionalGeneration(make_any_size.whole(
        T.Qwen2VLConfig, dict(depth=3, embed_dim=24, num_heads=3, mlp_ratio=2, hidden_size=48))), [(4, 6), (6, 2)], **sizes)
    torch.manual_seed(43)
    make_any_size.seeing("qwen3_vl", T.Qwen3VLForConditionalGeneration(make_any_size.whole(
        T.Qwen3VLConfig, dict(depth=4, hidden_size=24, num_heads=3, intermediate_size=20, out_hidden_size=48,
                              num_position_embeddings=49, deepstack_visual_indexes=[1, 2]),
        head_dim=8, num_hidden_layers=3)), [(6, 10), (4, 2)], **sizes, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    torch.manual_seed(43)
    make_any_size.seeing("qwen3_vl_moe", T.Qwen3VLMoeForConditionalGeneration(make_any_size.whole(
        T.Qwen3VLMoeConfig, dict(depth=4, hidden_size=24, num_heads=3, intermediate_size=20, out_hidden_size=48,
                                 num_position_embeddings=49, deepstack_visual_indexes=[1, 2]),
        head_dim=8, num_hidden_layers=3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=10)),
        [(6, 10), (4, 2)], **sizes, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    remembering = dict(
        num_hidden_layers=4, num_attention_heads=4, head_dim=32, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=6, linear_value_head_dim=6, layer_types=["linear_attention", "full_attention"] * 2,
        rope_parameters=tiny.rope("default", mrope_section=[3, 2, 3], mrope_interleaved=True, partial_rotary_factor=0.5))
    tower = dict(depth=2, hidden_size=24, num_heads=3, intermediate_size=20, out_hidden_size=48, num_position_embeddings=49)
    torch.manual_seed(43)
    make_any_size.seeing("qwen3_5", T.Qwen3_5ForConditionalGeneration(make_any_size.whole(
        T.Qwen3_5Config, tower, **remembering)), [(6, 10), (4, 2)], **sizes, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    torch.manual_seed(43)
    make_any_size.seeing("qwen3_5_moe", T.Qwen3_5MoeForConditionalGeneration(make_any_size.whole(
        T.Qwen3_5MoeConfig, tower, **remembering, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=10,
        shared_expert_intermediate_size=24)), [(6, 10), (4, 2)], **sizes, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    torch.manual_seed(5)
    make_gemma4_sees.seeing("gemma4", make_gemma4_sees.whole(
        dict(use_clipped_linears=True, standardize=True), tied=True,
        audio=dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, subsampling_conv_channels=[4, 2],
                   output_proj_dims=12),  # which is left out
        num_kv_shared_layers=2, use_double_wide_mlp=True,
        rms_norm_eps=1e-6, use_bidirectional_attention="vision"), [(3, 5), (2, 1)], max_soft_tokens=280)
    mistral = T.MistralConfig(**tiny.llama_like(head_dim=8, sliding_window=None))
    torch.manual_seed(32)
    make_pixtral.seeing("mistral3", T.Mistral3ForConditionalGeneration(make_pixtral.whole(
        T.Mistral3Config, mistral, dict(hidden_act="silu"), tie_word_embeddings=False)), [(3, 5), (2, 1)],
        {"longest_edge": 40})
    torch.manual_seed(31)
    make_pixtral.seeing("llava_pixtral", T.LlavaForConditionalGeneration(make_pixtral.whole(
        T.LlavaConfig, mistral, dict(image_size=24), vision_feature_layer=-1, vision_feature_select_strategy="full")),
        [(6, 3), (2, 5)], {"longest_edge": 24})


def module(path, name):
    """A file of seeing/, whose name another file has, too."""
    spec = importlib.util.spec_from_file_location(name, here / "seeing" / path)
    sys.modules[name] = out = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(out)
    return out


def with_vocabulary(talking, names):
    """What writes this tokenizer, as far as words and special tokens go, and a chat template. `names`: what a model calls
    the token of images, and others."""
    made = json.loads((talking / "tokenizer.json").read_text())
    template = next(file.read_text() for file in talking.glob("chat_template.j*"))
    if template.startswith("{\n"):
        template = json.loads(template)["chat_template"]
    words = {i: word for word, i in made["model"]["vocab"].items()}
    special = {token["id"] for token in made["added_tokens"]}

    def set_vocab(self):
        tokens, types = [], []
        for i in range(len(words)):
            plain = re.fullmatch(r"w\d+", words[i]) and i not in special and words[i] not in names
            tokens.append("▁" + words[i] if plain else names.get(words[i], words[i]))
            types.append(1 if plain else 3 if i in special else 4)
        self.gguf_writer.add_tokenizer_model("bert")
        self.gguf_writer.add_token_list(tokens)
        self.gguf_writer.add_token_types(types)
        for add, i in [("unk", 0), ("bos", 1), ("eos", 2), ("sep", 2)]:
            getattr(self.gguf_writer, f"add_{add}_token_id")(i)
        self.gguf_writer.add_chat_template(template.replace("<image>", names["<image>"]))

    return set_vocab


def published(source):
    """The folder as the converter knows it; in f32, because it adds 1 to norms."""
    config = json.loads((source / "config.json").read_text())
    plain = config["vision_config"]["model_type"] in ("gemma4_vision", "pixtral")
    tensors = {name: tensor.to(torch.float32) for name, tensor in load_file(source / "model.safetensors").items()}
    if config["model_type"] == "internvl":
        tensors = {name if name.startswith("language_model.") else "model." + name: tensor for name, tensor in tensors.items()}
        config |= dict(min_dynamic_patch=1, max_dynamic_patch=6, select_layer=-1)
    elif not plain:
        tensors = {name.replace("vision_tower.", "vision_tower.vision_model."): tensor for name, tensor in tensors.items()}
    save_file(tensors, source / "model.safetensors", metadata={"format": "pt"})
    preprocessor = json.loads((source / "preprocessor_config.json").read_text())
    config["dtype"] = "float32"
    preprocessor["image_seq_length"] = config.get("mm_tokens_per_image", 0)
    (source / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    (source / "config.json").write_text(json.dumps(config))
    words = {f"w{i}": i for i in range(config["text_config"]["vocab_size"])}  # which the converter of Gemma counts
    # The converter of Pixtral looks for one of these.
    made = {"model": {"type": "WordPiece", "vocab": words}, "added_tokens": [{"id": 46, "content": "[IMG_BREAK]"}]}
    (source / "tokenizer.json").write_text(json.dumps(made))
    (source / "tokenizer_config.json").write_text("{}")


def write_llava_projector(source, target):
    """As tools/mtmd/legacy-models/convert_image_encoder_to_gguf.py has it: without the last layer, and fc1 is "down"."""
    config = json.loads((source / "config.json").read_text())
    sees, images = config["vision_config"], json.loads((source / "preprocessor_config.json").read_text())
    writer = gguf.GGUFWriter(target, arch="clip")
    layers = sees["num_hidden_layers"] - 1
    for key, value in [("has_text_encoder", False), ("has_vision_encoder", True), ("has_llava_projector", True),
                       ("use_gelu", sees["hidden_act"] == "gelu")]:
        writer.add_bool("clip." + key, value)
    writer.add_string("clip.projector_type", "mlp")
    for key, value in [("image_size", sees["image_size"]), ("patch_size", sees["patch_size"]), ("block_count", layers),
                       ("embedding_length", sees["hidden_size"]), ("feed_forward_length", sees["intermediate_size"]),
                       ("projection_dim", sees["projection_dim"]), ("attention.head_count", sees["num_attention_heads"])]:
        writer.add_uint32("clip.vision." + key, value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", sees["layer_norm_eps"])
    for key in ("image_mean", "image_std"):
        writer.add_array("clip.vision." + key, images[key])
    names = {"multi_modal_projector.linear_1": "mm.0", "multi_modal_projector.linear_2": "mm.2", "vision_tower.": "v.",
             "encoder.layers": "blk", "embeddings.": "", "_proj": "", "self_attn.": "attn_", "layer_norm": "ln",
             "mlp.fc1": "ffn_down", "mlp.fc2": "ffn_up", "embedding": "embd", "layrnorm": "ln"}
    for name, tensor in load_file(source / "model.safetensors").items():
        if name.startswith("language_model.") or "post_layernorm" in name or f".layers.{layers}." in name:
            continue
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        writer.add_tensor(name, tensor.to(torch.float16 if tensor.ndim > 1 else torch.float32).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def convert(source, target, set_vocab):
    settings = lambda: ModelBase.load_hparams(source, False)
    architecture = settings()["architectures"][0]
    of_texts = {"SmolVLMForConditionalGeneration": "VLlama3ForCausalLM", "InternVLForConditionalGeneration": "Qwen2ForCausalLM"}
    of_images = {"InternVLForConditionalGeneration": "InternVisionModel"}
    model = get_model_class(of_texts.get(architecture, architecture))  # as published
    for each in (model, getattr(model, "Ministral3Model", model)):  # which does the work of Mistral3Model
        each.set_vocab, each.no_mtp = set_vocab, True
    exact = gguf.LlamaFileType.MOSTLY_F16
    with torch.inference_mode():
        model(source, exact, target / "model.gguf", hparams=settings()).write()
        if not (target / "mmproj.gguf").exists():
            get_model_class(of_images.get(architecture, architecture), mmproj=True)(source, exact, target / "mmproj.gguf", hparams=settings()).write()


def main():
    seeing = module("make.py", "make")
    any_size = module("make_any_size.py", "answers_of_any_size")
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tiny.here = make_seeing.here = make_any_size.here = root / "models"
        make_pixtral.here = make_gemma4_sees.here = root / "models"
        shutil.copytree(here / "seeing", root / "seeing")
        seeing.here = any_size.here = root / "seeing"
        tiny_models()
        for name, talks, processor in [("llava", "talking", seeing.llava), ("gemma3", "talking_gemma3", seeing.gemma3),
                                       ("smolvlm", "talking_idefics3", seeing.idefics3),
                                       ("internvl", "talking_internvl", seeing.InternVL), ("qwen2_5_vl", "talking", None),
                                       ("qwen2_vl", "talking", None), ("qwen3_vl", "talking", None),
                                       ("qwen3_vl_moe", "talking", None), ("qwen3_5", "talking", None),
                                       ("qwen3_5_moe", "talking", None), ("mistral3", "talking", None),
                                       ("gemma4", "talking", None),
                                       ("llava_pixtral", "talking", None)]:
            source, target = root / "models" / name, here / "models" / f"gguf_{name}_sees"
            talking = here / "seeing" / talks
            names = {"<image>": "<|image_pad|>"} if "qwen" in name else {"<image>": "<image>"}
            if name in ("mistral3", "llava_pixtral"):
                names = {"<image>": "[IMG]", "w46": "[IMG_BREAK]", "w47": "[IMG_END]"}
            if name == "gemma4":
                names = {"<image>": "<|image|>", "w51": "<|image>", "w52": "<image|>"}
            found = (seeing.answers(name, T.AutoTokenizer.from_pretrained(talking), processor) if processor
                     else any_size.answers(name))
            expected[target.name] = [each | {"prompt": each["prompt"].replace("<image>", names["<image>"])} for each in found]
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            shutil.copyfile(source / "golden.safetensors", target / "golden.safetensors")
            if name == "llava":
                write_llava_projector(source, target / "mmproj.gguf")
            published(source)
            if name == "qwen3_vl_moe":
                turn_experts(source)
            convert(source, target, with_vocabulary(talking, names))
            print(target.name, flush=True)
    (here / "seeing" / "projectors.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
