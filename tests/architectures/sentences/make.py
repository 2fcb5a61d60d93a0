"""Writes tiny models of sentence-transformers, and what this package makes of texts and pairs with them.

    python tests/architectures/sentences/make.py

Needs the PyPI packages torch, transformers and sentence-transformers. The files are committed; this is how they were made.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder, models
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from randomized import randomized  # noqa: E402

texts = ["The quick brown fox", "the cat sat on the mat", "Don't worry", "liquor jugs five dozen 12345 reasons jumps over"]
pairs = [["the quick fox", "The dog ran to the tree."], ["lazy", "five dozen liquor jugs and my box with reasons; and more"],
         ["over the lazy dog jumps the quick brown fox, 1234 times", "don't"],
         ["the quick brown fox jumps over the lazy dog", "pack my box with five dozen liquor jugs and reasons"],
         ["the quick brown fox jumps over the lazy dog and packs my box", "pack my box with five dozen liquor jugs and reasons"],
         ["a fox", "the quick brown fox jumps over the lazy dog and packs my box with five dozen liquor jugs; reasons"],
         ["The quick brown fox jumps over the lazy dog and packs my box with five dozen liquor jugs; why?", "no reasons"]]


def bert(model_class, **more):
    torch.manual_seed(3)
    model = randomized(model_class(transformers.BertConfig(
        vocab_size=180, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=28,
        max_position_embeddings=24, **more)))
    folder = here / "transformer"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer = transformers.BertTokenizer.from_pretrained(here.parent / "tokenizers" / "bert")
    tokenizer.model_max_length = 24
    tokenizer.save_pretrained(folder)
    return folder


def change(file, **keys):
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | keys))


def save(name, model):
    shutil.rmtree(here / name, ignore_errors=True)
    model.save(str(here / name), create_model_card=False)
    (here / name / "README.md").unlink(missing_ok=True)
    return here / name


def sentences(name, pooling, prompts, *modules, include_prompt=True):
    transformer = models.Transformer(str(bert(transformers.BertModel)))
    return save(name, SentenceTransformer(
        modules=[transformer, models.Pooling(24, pooling, include_prompt=include_prompt), *(randomized(m) for m in modules)], prompts=prompts))


def sparse(name, transformer, **pooling):
    return save(name, SparseEncoder(modules=[transformer, SpladePooling(**pooling)], prompts={"query": "the fox: "}))


def add_sparse(vectors):
    """Models of SparseEncoder as version 5 writes them, and since version 5.4."""
    folder = str(bert(transformers.BertForMaskedLM, hidden_act="relu", tie_word_embeddings=False))
    older = sparse("sparse_older", MLMTransformer(folder))
    (older / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 24, "do_lower_case": False}))
    (older / "1_SpladePooling" / "config.json").write_text(json.dumps(
        {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": 180}))
    newer = sparse("sparse", models.Transformer(folder, transformer_task="fill-mask"), activation_function="log1p_relu")
    for folder, names in {older: [None], newer: [None, "query"]}.items():
        model = SparseEncoder(str(folder), device="cpu")
        for prompt in names:
            found = model.encode(texts, prompt_name=prompt, convert_to_sparse_tensor=False)
            vectors[folder.name + (":" + prompt if prompt else "")] = found.tolist()


# As that of Qwen3-Reranker; another one that passes through all messages.
asking = """{%- set task = messages | selectattr("role", "eq", "system") | map(attribute="content") | first -%}
<|im_start|>system
Say "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ task | default("lazy dogs") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
<think>

</think>

"""
passing = """{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def decoder(model_class, config, template, length, tokenizer="qwen2", tokenizer_class=transformers.Qwen2Tokenizer):
    torch.manual_seed(5)
    folder = here / "transformer"
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer = tokenizer_class.from_pretrained(here.parent / "tokenizers" / tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "pad_token": "<|endoftext|>"})
    tokenizer.model_max_length, tokenizer.chat_template = length, template
    tokenizer.save_pretrained(folder)
    model = randomized(model_class(config(
        vocab_size=len(tokenizer) + 3, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, num_key_value_heads=1,
        head_dim=8, intermediate_size=28, max_position_embeddings=length, pad_token_id=tokenizer.pad_token_id)))
    model.save_pretrained(folder)
    return str(folder)


def add_asked(scores):
    """Rerankers that ask a decoder, and one with a head for classes and a chat template."""
    task = "text-generation"
    folder = decoder(transformers.Qwen3ForCausalLM, transformers.Qwen3Config, asking, 140)
    save("asked", CrossEncoder(modules=[models.Transformer(folder, transformer_task=task), LogitScore(41, 17)],
                               prompts={"fox": "a quick fox"}, default_prompt_name="fox"))
    folder = decoder(transformers.Gemma2ForCausalLM, transformers.Gemma2Config, passing, 128)
    save("asked_one", CrossEncoder(modules=[models.Transformer(
        folder, transformer_task=task, processing_kwargs={"chat_template": {"add_generation_prompt": True}}), LogitScore(7)],
        activation_fn=torch.nn.Identity()))
    one_label = lambda **more: transformers.Qwen3Config(num_labels=1, **more)
    folder = decoder(transformers.Qwen3ForSequenceClassification, one_label, passing, 128, "bert",
                     transformers.BertTokenizer)  # which puts special tokens around other texts
    save("ranker_told", CrossEncoder(modules=[models.Transformer(folder, transformer_task="sequence-classification")]))
    for name in ("asked", "asked:", "asked_one", "ranker_told"):
        model = CrossEncoder(str(here / name.removesuffix(":")), device="cpu")
        if name.endswith(":"):
            model.default_prompt_name = None
        scores[name] = torch.tensor(model.predict(pairs))[:, None].tolist()


def main():
    expected = {"texts": texts, "pairs": pairs, "vectors": {}, "scores": {}}
    dense = sentences("dense", "mean", {"query": "the fox: ", "document": ""}, models.Dense(24, 20),
                      models.LayerNorm(20), models.Normalize())
    plain = sentences("older", "cls", {"query": "dog "}, models.Normalize(),
                      models.Dense(24, 16, bias=False, activation_function=torch.nn.Identity()))
    change(plain / "config_sentence_transformers.json", default_prompt_name="query")
    (plain / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 10, "do_lower_case": True}))
    (plain / "1_Pooling" / "config.json").write_text(json.dumps({
        "word_embedding_dimension": 24, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
        "pooling_mode_weightedmean_tokens": False, "pooling_mode_lasttoken": False, "include_prompt": True}))
    tokenizer = json.loads((plain / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (plain / "tokenizer.json").write_text(json.dumps(tokenizer))
    change(plain / "tokenizer_config.json", do_lower_case=False, tokenizer_class="PreTrainedTokenizerFast")
    several = sentences("several", ["weightedmean", "cls", "lasttoken", "mean", "max", "mean_sqrt_len_tokens"],
                        {"query": "the fox: ", "long": "the quick brown fox, five dozen liquor jugs and my box"},
                        models.Normalize(), models.Dense(6 * 24, 20), include_prompt=False)
    change(several / "config_sentence_transformers.json", default_prompt_name="query")
    older = sentences("several_older", "mean", {})
    (older / "1_Pooling" / "config.json").write_text(json.dumps({
        "word_embedding_dimension": 24, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": True,
        "pooling_mode_weightedmean_tokens": True, "pooling_mode_lasttoken": True, "include_prompt": True}))
    for folder, names in {dense: [None, "query"], plain: [None], several: [None, "long"], older: [None]}.items():
        model = SentenceTransformer(str(folder), device="cpu")
        for prompt in names:
            found = model.encode(texts, prompt_name=prompt)
            expected["vectors"][folder.name + (":" + prompt if prompt else "")] = found.tolist()
    add_sparse(expected["vectors"])
    add_asked(expected["scores"])
    for name, labels in {"ranker": 1, "relations": 3}.items():
        folder = bert(transformers.BertForSequenceClassification, num_labels=labels)
        shutil.rmtree(here / name, ignore_errors=True)
        shutil.copytree(folder, here / name)
        model = CrossEncoder(str(here / name), device="cpu", max_length=24)
        found = torch.tensor(model.predict(pairs))
        expected["scores"][name] = (torch.softmax(found, -1) if labels > 1 else found[:, None]).tolist()
    shutil.rmtree(here / "transformer")
    (here / "expected.json").write_text(json.dumps(expected, separators=(",", ":")))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
