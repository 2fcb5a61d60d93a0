"""Writes GGUF files of the tiny models in models/ with llama.cpp's own converter, as models/gguf_NAME.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors gguf
    venv/bin/pip download --no-binary :all: --no-deps llama-cpp-python && tar xzf llama_cpp_python-*.tar.gz
    venv/bin/python tests/architectures/make_gguf.py llama_cpp_python-*/vendor/llama.cpp           writes all of them
    venv/bin/python tests/architectures/make_gguf.py llama_cpp_python-*/vendor/llama.cpp gemma     writes some

The results of transformers for the original, golden.safetensors, are those of the GGUF file, too. The files have no
tokenizer, because the originals have none.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tiny import save_golden

here = pathlib.Path(__file__).parent / "models"
SOURCES = ["asked_of_qwen3", "bloom", "cohere", "cohere2_plain", "deepseek_v2_plain", "deepseek_v3_plain", "distilbert",
           "distilbert_texts", "ernie4_5_moe_plain", "ernie4_5_plain", "exaone4_full", "falcon", "falcon_h1_normed_plain",
           "falcon_h1_plain", "falcon_mamba_plain", "falcon_plain", "falcon_shared", "gemma2_plain", "gemma3_plain",
           "gemma4_experts_plain", "gemma4_plain", "gemma_plain", "glm4", "glm4_moe_air", "glm4_moe_lite_plain",
           "glm4_moe_plain", "gpt2", "gpt_neox_plain", "gpt_oss_mxfp4", "granite", "granite_hybrid_dense_attending",
           "granite_hybrid_dense_plain", "granite_hybrid_plain", "granitemoe", "jina_bert", "jina_bert_apart", "lfm2",
           "lfm2_moe", "llama_tied_biased", "mamba2_plain", "mamba_plain", "ministral3", "mixtral_plain", "modernbert",
           "mpt", "mpt_clipped", "mt5_plain", "nemotron_h_moe_plain", "nemotron_h_plain", "nomic_bert_plain", "olmo2",
           "olmo3", "olmo_clipped", "olmoe", "phi3", "phi3_longrope", "phi_plain", "qwen2_5_vl", "qwen2_moe_plain",
           "qwen3_5_moe_plain", "qwen3_5_plain", "qwen3_moe_plain", "qwen3_next_plain", "qwen3_vl", "qwen3_vl_moe_plain",
           "roberta", "rwkv7_plain", "sentences", "sentences_of_gemma3_plain", "sentences_of_qwen2", "sentences_of_qwen3",
           "smollm3_plain", "stablelm", "stablelm_parallel", "starcoder2_plain", "t5_gated_plain", "t5_plain",
           "xlm_roberta_labels", "xlm_roberta_plain", "xlm_roberta_ranker"]


# Files of models that see, made of the part for texts: the name, and the settings that the converter has for them.
OF_IMAGES = {"glm4": ("glm4_of_images", {"rope_parameters": {"mrope_section": [1, 1, 1]}})}
# As the converter writes them with --fuse-qkv, and with --fuse-gate-up-exps where it has experts together.
FUSED = {"gemma4_plain": False, "qwen2_moe_plain": False, "qwen3_5_moe_plain": True, "sentences": False}
# A file with matrices behind the pooling, as published files of EmbeddingGemma have them.
DENSE = {"sentences_of_gemma3_plain": "sentences_of_gemma3_dense"}
# A file whose slopes transformers does not read.
STEEP = {"mpt": ("mpt_steep", {"attn_config": {"alibi_bias_max": 16}})}


def as_published(settings):
    """With the keys of published files, which the converter knows, and transformers writes others for."""
    if settings["model_type"] == "deepseek_v3":
        settings["scoring_func"] = "sigmoid"
    if settings["model_type"] == "falcon" and not settings["new_decoder_architecture"]:
        del settings["num_kv_heads"]
    if settings["model_type"] == "glm4_moe_lite":
        settings["first_k_dense_replace"] = 1
    if settings["model_type"] == "gpt2":
        settings["n_ctx"] = settings["n_positions"]
    if settings["model_type"] == "gpt_neox":
        settings["rotary_pct"] = settings["rope_parameters"]["partial_rotary_factor"]
    if settings["model_type"] == "qwen3_5_moe_text":
        del settings["intermediate_size"]
    if settings["model_type"] == "granitemoehybrid":
        older = {"full_attention": "attention", "linear_attention": "mamba"}
        settings["layer_types"] = [older[name] for name in settings["layer_types"]]
    if settings["model_type"] == "modernbert":
        settings["layer_norm_eps"] = settings["norm_eps"]
    if settings["model_type"] == "mpt":
        settings["architectures"] = ["MPTForCausalLM"]
    if settings["model_type"] == "nemotron_h":
        letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
        settings["hybrid_override_pattern"] = "".join(letters[name] for name in settings.pop("layers_block_type"))
        settings["num_hidden_layers"] = len(settings["hybrid_override_pattern"])
        settings["mamba_d_head"] = settings["mamba_head_dim"]
        if "E" not in settings["hybrid_override_pattern"]:
            del settings["num_experts_per_tok"]
    if settings["model_type"] == "nomic_bert":
        none = ("causal", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "qkv_proj_bias", "rotary_emb_interleaved")
        settings |= dict.fromkeys(none, False) | dict(activation_function="swiglu", max_trained_positions=2048, n_positions=2048 * 4,
                                  rotary_emb_fraction=1.0, rotary_emb_scale_base=None)


def add_words(self):
    """A tokenizer, for a model whose labels are tested with it."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    self.gguf_writer.add_tokenizer_model("bert")
    self.gguf_writer.add_token_list(special + [f"\u2581w{i}" for i in range(4, self.hparams["vocab_size"])])
    self.gguf_writer.add_token_types([3] * 4 + [1] * (self.hparams["vocab_size"] - 4))
    self.gguf_writer.add_unk_token_id(1)
    self.gguf_writer.add_bos_token_id(2)
    self.gguf_writer.add_sep_token_id(3)


def apart(model_class):
    """As the converter wrote models before 2025: the halves of gated feed-forward layers by themselves."""

    class Apart(model_class):
        model_arch = model_class.model_arch

        def modify_tensors(self, data, name, bid):
            if not name.endswith("mlp.gated_layers.weight"):
                return super().modify_tensors(data, name, bid)
            names = [name.replace("layers.weight", f"layers_{half}.weight") for half in "wv"]
            halves = [super(Apart, self).modify_tensors(part, each, bid) for each, part in zip(names, data.chunk(2))]
            return [tensor for half in halves for tensor in half]

    return Apart


def add_draft(file, settings):
    """The layer after the last one, which predicts tokens ahead, as published files of GLM-4.5 have it."""
    tensors, last, width = load_file(file), settings["num_hidden_layers"] - 1, settings["hidden_size"]
    layer = f"model.layers.{last + 1}."
    tensors |= {name.replace(f"model.layers.{last}.", layer): values.clone() for name, values in tensors.items()
                if name.startswith(f"model.layers.{last}.")}
    tensors |= {layer + norm + ".weight": torch.ones(width) for norm in ("enorm", "hnorm", "shared_head.norm")}
    tensors |= {layer + "eh_proj.weight": torch.ones(width, 2 * width),
                layer + "embed_tokens.weight": tensors["model.embed_tokens.weight"].clone(),
                layer + "shared_head.head.weight": tensors["lm_head.weight"].clone()}
    save_file(tensors, file)


def copy_golden(source, target):
    """Files have no pooler of BERT."""
    with safe_open(source / "golden.safetensors", "pt") as golden:
        tensors = {name: golden.get_tensor(name) for name in golden.keys() if name != "out.encode.pooled"}
        save_file(tensors, target / "golden.safetensors", metadata=golden.metadata())


def dense_matrices():
    draw = torch.Generator().manual_seed(7)
    return [torch.randn(20, 36, generator=draw), torch.randn(36, 20, generator=draw)]


def add_dense(folder):
    """Modules of sentence-transformers for these matrices."""
    modules = json.loads((folder / "modules.json").read_text())
    for i, matrix in enumerate(dense_matrices(), 2):
        path = f"{i}_Dense"
        modules.insert(i, {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models.Dense"})
        (folder / path).mkdir()
        outputs, inputs = matrix.shape
        (folder / path / "config.json").write_text(json.dumps({"in_features": inputs, "out_features": outputs, "bias": False}))
        save_file({"linear.weight": matrix}, folder / path / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(modules))


def dense_golden(source, target):
    golden = load_file(source / "golden.safetensors")
    inputs, outputs = ({name.removeprefix(kind): values for name, values in golden.items() if name.startswith(kind)}
                       for kind in ("in.encode.", "out.encode."))
    vectors = outputs["hidden"].double().sum(1) / inputs["lengths"].double()[:, None]  # zeros after the ends
    for matrix in dense_matrices():
        vectors = vectors @ matrix.double().T
    save_golden(target, {"encode": (inputs, outputs | {"embedding": torch.nn.functional.normalize(vectors)})})


def steep_golden(source, target, attn_config):
    """With slopes that transformers computes, but leaves as they are by default."""
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float64, attn_implementation="eager")
    slopes = model.transformer.build_mpt_alibi_tensor
    model.transformer.build_mpt_alibi_tensor = lambda heads, length, **more: slopes(
        heads, length, **more, **attn_config)
    inputs = {name.removeprefix("in.decode."): values for name, values in load_file(source / "golden.safetensors").items()
              if name.startswith("in.decode.")}
    with torch.inference_mode():
        save_golden(target, {"decode": (inputs, {"logits": model(input_ids=inputs["ids"].long()).logits})})


def main():
    sys.path[1:1] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
    import gguf
    from conversion import ModelBase, get_model_class
    files = [(source, source, {}) for source in SOURCES]
    files += [(name, source, more) for made in (OF_IMAGES, STEEP) for source, (name, more) in made.items()]
    files += [(source + "_fused", source, {}) for source in FUSED] + [(name, source, {}) for source, name in DENSE.items()]
    for name, source, more in files:
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        target = here / ("gguf_" + name)
        in_halves = source == "jina_bert_apart"
        source = source.removesuffix("_apart")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        if source in STEEP and more:
            steep_golden(here / source, target, **more)
        elif name in DENSE.values():
            dense_golden(here / source, target)
        else:
            copy_golden(here / source, target)
        settings = ModelBase.load_hparams(here / source, False)
        as_published(settings)
        for key, values in more.items():
            settings[key] |= values
        model_class = get_model_class(settings["architectures"][0])
        model_class = apart(model_class) if in_halves else model_class
        with_words = source in ("asked_of_qwen3", "xlm_roberta_labels")
        model_class.set_vocab = add_words if with_words else lambda self: None
        within = getattr(model_class, "Ministral3Model", model_class)  # does the work of Mistral3Model
        within.set_vocab = model_class.set_vocab
        drafts = source == "glm4_moe_air"
        model_class.no_mtp = "mtp_num_hidden_layers" not in settings and not drafts  # layers that predict tokens ahead
        exact = gguf.LlamaFileType.MOSTLY_F16 if settings.get("dtype", "float16") == "float16" else gguf.LlamaFileType.ALL_F32
        count = settings.get("text_config", settings)["vocab_size"]
        words = {f"w{i}": i for i in range(count)}  # which the converter of Gemma 3 counts
        with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(shutil.copytree(here / source, pathlib.Path(folder) / source))
            pieces = dict(type="WordPiece", vocab=words, unk_token="w0", continuing_subword_prefix="##",
                          max_input_chars_per_word=100)
            made = {"model": pieces, "added_tokens": []}
            (copy / "tokenizer.json").write_text(json.dumps(made))
            if drafts:
                add_draft(copy / "model.safetensors", settings)
            options = dict(fuse_qkv=True, fuse_gate_up_exps=FUSED[source]) if name.endswith("_fused") else {}
            if name in DENSE.values():
                add_dense(copy)
                options = dict(sentence_transformers_dense_modules=True)
            file = model_class(copy, exact, target / "model.gguf", hparams=settings, **options)
            if source == "falcon_shared":  # which the converter leaves out, although Falcon 2 has one of its own
                file.gguf_writer.add_rope_freq_base(settings["rope_parameters"]["rope_theta"])
            if source == "asked_of_qwen3":  # which the converter knows by the name of a folder
                file.is_rerank = file.is_tied_embeddings = True
                file.token_true_id, file.token_false_id = 41, 17
            file.write()
        print(name, model_class.__name__, flush=True)


if __name__ == "__main__":
    main()
