"""Writes tokenizers as folders have them that lack a tokenizer.json, and the ids that transformers gives texts with them.

    python tests/architectures/tokenizers/make.py

Needs the PyPI packages tokenizers, transformers and sentencepiece. The files are committed; this is how they were made.
"""

import json
import pathlib
import shutil

import tokenizers
import transformers

here = pathlib.Path(__file__).parent
corpus = ["The quick brown fox jumps over the lazy dog.", "Pack my box with five dozen liquor jugs!",
          "She'll say: don't worry, we've got 1234 reasons.", "Café naïve, Zürich; \u65e5\u672c\u8a9e and \u4e2d\u6587.",
          "the cat sat on the mat and the dog ran to the tree"] * 4
texts = ["The quick brown fox", "the  cats  don't\tworry\n\n about 12345 caf\u00e9s", " leading and trailing ", "",
         "CAF\u00c9 Z\u00dcRICH na\u0131ve \u01c5", "\u65e5\u672c\u8a9e\u4e2d\u6587 mixed\u4e2dwith words", "e\u0301 combined \u212b",
         "emoji \U0001f600 and \u200b zero width", "[MASK] of [CLS] and <mask> or </s> <|endoftext|>there",
         "<special> words<special>here  <pad> new_word NEW_WORD", "x" * 120, "tabs\tand\u00a0spaces\r\nlines"]
pairs = [("the cat sat", "on the mat"), ("", "dog"), ("Fox?", " ")]


def write(name, **files):
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file, content in files.items():
        stem, dot, ending = file.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def word_pieces():
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=False, strip_accents=False)
    lines = corpus + [line.lower() for line in corpus]
    tokenizer.train_from_iterator(lines, vocab_size=230, min_frequency=1, show_progress=False)
    vocabulary = tokenizer.get_vocab()
    return "\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n"


def byte_pieces(special):
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(corpus, vocab_size=330, min_frequency=1, special_tokens=special, show_progress=False)
    parts = json.loads(tokenizer.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in parts["merges"]]
    return {"vocab_json": parts["vocab"], "merges_txt": "#version: 0.2\n" + "\n".join(merges) + "\n"}


def folders():
    T = transformers
    words = word_pieces()
    yield write("bert", vocab_txt=words), T.BertTokenizer
    yield write("bert_cased", vocab_txt=words, tokenizer_config_json={"do_lower_case": False}), T.BertTokenizer
    yield write("bert_accents", vocab_txt=words, tokenizer_config_json={
        "strip_accents": False, "tokenize_chinese_chars": False, "do_lower_case": True}), T.BertTokenizer
    size = words.count("\n")
    added = {"new_word": size}
    yield write("bert_added", vocab_txt=words, added_tokens_json=added, special_tokens_map_json={
        "cls_token": "[CLS]", "mask_token": {"content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False,
                                             "single_word": False},
        "additional_special_tokens": ["<special>"]}), T.BertTokenizer
    plain = byte_pieces(["<|endoftext|>"])
    yield write("gpt2", **plain), T.GPT2Tokenizer
    yield write("opt", **plain, tokenizer_config_json={
        "tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "add_prefix_space": True,
        "bos_token": {"__type": "AddedToken", "content": "<|endoftext|>", "lstrip": False, "normalized": True,
                      "rstrip": False, "single_word": False}}), T.GPT2Tokenizer
    framed = byte_pieces(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    yield write("roberta", **framed, tokenizer_config_json={"tokenizer_class": "RobertaTokenizer"}), T.RobertaTokenizer
    yield write("roberta_prefixed", **framed, special_tokens_map_json={"mask_token": {
        "content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}},
        tokenizer_config_json={"tokenizer_class": "RobertaTokenizerFast", "add_prefix_space": True}), T.RobertaTokenizer
    size = len(plain["vocab_json"])
    yield write("qwen2", **plain, tokenizer_config_json={
        "tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<special>", "pad_token": "<|endoftext|>",
        "added_tokens_decoder": {str(size + i): {"content": token, "lstrip": False, "normalized": False, "rstrip": False,
                                                 "single_word": False, "special": special}
                                 for i, (token, special) in enumerate([("<special>", True), ("new_word", False)])}
    }), T.Qwen2Tokenizer


def main():
    expected = {}
    for folder, kind in folders():
        tokenizer = kind.from_pretrained(folder)
        (folder / "expected.json").unlink(missing_ok=True)
        encoded = [tokenizer(text)["input_ids"] for text in texts]
        both = [tokenizer(a, b, return_token_type_ids=True) for a, b in pairs]
        expected[folder.name] = {"ids": encoded, "pairs": [[e["input_ids"], e["token_type_ids"]] for e in both],
                                 "decoded": [tokenizer.decode(ids, skip_special_tokens=True,
                                                              clean_up_tokenization_spaces=False) for ids in encoded]}
    (here / "expected.json").write_text(json.dumps({"texts": texts, "text_pairs": pairs, "folders": expected},
                                                   separators=(",", ":")))


if __name__ == "__main__":
    main()
