"""Writes tiny models that give a vector for each token, and what sentence-transformers makes of queries and documents.

    python tests/architectures/token_vectors/make.py

Needs the PyPI packages torch, transformers and sentence-transformers (6.2). The files are committed; this is how they were
made.
"""

import json
import pathlib
import shutil
import sys

import safetensors.torch
import torch
import transformers
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.base.modules.dense import Dense
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from randomized import randomized  # noqa: E402

queries = ["the quick fox", "lazy dog?", "Don't"]
documents = ["The quick brown fox, jumps over the lazy dog!", "pack my box; with five dozen liquor jugs", "reasons.",
             "the quick brown fox jumps over the lazy dog and packs my box with five dozen liquor jugs; reasons"]


def bert(name, **more):
    torch.manual_seed(3)
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer = transformers.BertTokenizer.from_pretrained(here.parent / "tokenizers" / "bert")
    tokenizer.model_max_length = 24
    tokenizer.add_tokens(more.pop("tokens", []))
    tokenizer.save_pretrained(folder)
    model = randomized(transformers.BertModel(transformers.BertConfig(
        vocab_size=184, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=28,
        max_position_embeddings=24, **more), add_pooling_layer=False))
    model.save_pretrained(folder)
    return folder


def change(file, **keys):
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | keys))


def of_tokens(inputs, outputs, **more):
    return randomized(Dense(inputs, outputs, bias=False, activation_function=torch.nn.Identity(),
                            module_input_name="token_embeddings", **more))


def save(name, modules, **more):
    model = MultiVectorEncoder(modules=modules, **more)
    shutil.rmtree(here / name, ignore_errors=True)
    model.save(str(here / name), create_model_card=False)
    (here / name / "README.md").unlink(missing_ok=True)


def native():
    """As sentence-transformers writes them: each query of 12 tokens; queries of at least 8, which see what fills them; what
    is filled with a token that ends texts, too."""
    folder = str(bert("transformer"))
    save("fixed", [Transformer(folder, document_length=16, query_expansion={"strategy": "fixed", "length": 12}), of_tokens(24, 8),
                   MultiVectorMask(["!", ",", ".", "no such token"]), Normalize(module_input_name="token_embeddings")],
         prompts={"query": "fox: ", "document": "my "})
    save("least", [Transformer(folder, query_length=10, query_expansion={
        "strategy": "min", "length": 8, "attend": True, "token": "fox"}), of_tokens(24, 20, use_residual=True),
        of_tokens(20, 20, use_residual=True), of_tokens(20, 8),
        MultiVectorMask([";", "?"], skiplist_tasks=["query", "document"])], similarity_fn_name="meanmaxsim")
    save("plain", [Transformer(folder), of_tokens(24, 8), MultiVectorMask(), Normalize(module_input_name="token_embeddings")])
    save("ended", [Transformer(folder, query_expansion={"strategy": "fixed", "length": 9, "token": "[SEP]"}), of_tokens(24, 8),
                   MultiVectorMask(), Normalize(module_input_name="token_embeddings")])
    shutil.rmtree(folder)


def pylate():
    """As PyLate 1 writes them, with marks that are tokens of their own, which a text would not become."""
    folder = bert("pylate", tokens=["[Q] ", "[D] "])
    dense = of_tokens(24, 8)
    (folder / "1_Dense").mkdir()
    dense.save(str(folder / "1_Dense"))
    (folder / "1_Dense" / "config.json").write_text(json.dumps({
        "in_features": 24, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}))
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}]))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 19, "do_lower_case": False}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({
        "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine", "model_type": "ColBERT",
        "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 11, "document_length": 20,
        "attend_to_expansion_tokens": False, "skiplist_words": ["!", ","], "do_query_expansion": True}))


def stanford():
    """As ColBERT's own programs write them: marks of the vocabulary, the projection beside the transformer."""
    folder = bert("stanford")
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    vocabulary["model"]["vocab"] |= {"[unused0]": 180, "[unused1]": 181}
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    weights = {"bert." + name: tensor for name, tensor in safetensors.torch.load_file(folder / "model.safetensors").items()}
    weights["linear.weight"] = torch.randn(8, 24)
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    change(folder / "config.json", architectures=["HF_ColBERT"])
    (folder / "artifact.metadata").write_text(json.dumps({
        "query_maxlen": 10, "doc_maxlen": 18, "dim": 8, "mask_punctuation": True, "attend_to_mask_tokens": False,
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "similarity": "cosine", "lr": 1e-05}))


def main():
    native()
    pylate()
    stanford()
    expected = {"queries": queries, "documents": documents, "models": {}}
    for name in ("fixed", "least", "plain", "ended", "pylate", "stanford"):
        model = MultiVectorEncoder(str(here / name), device="cpu")
        of_queries = model.encode_query(queries)
        of_documents = model.encode_document(documents)
        expected["models"][name] = {
            "query": [each.tolist() for each in of_queries], "document": [each.tolist() for each in of_documents],
            "scores": model.similarity(of_queries, of_documents).tolist()}
    (here / "expected.json").write_text(json.dumps(expected, separators=(",", ":")))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
