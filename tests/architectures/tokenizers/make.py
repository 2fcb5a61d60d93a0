"""Writes tokenizers as folders have them that lack a tokenizer.json, or list tokens beside it, and the ids that
transformers gives texts with them.

    python tests/architectures/tokenizers/make.py

Needs the PyPI packages tokenizers, transformers, sentencepiece and rwkv. The files are committed; this is how they were made.
"""

import ast
import io
import json
import pathlib
import shutil

import rwkv
import sentencepiece
import tokenizers
import transformers
from rwkv.rwkv_tokenizer import TRIE_TOKENIZER
from transformers.models.mbart50 import tokenization_mbart50 as mbart_50

here = pathlib.Path(__file__).parent
corpus = ["The quick brown fox jumps over the lazy dog.", "Pack my box with five dozen liquor jugs!",
          "She'll say: don't worry, we've got 1234 reasons.", "Café naïve, Zürich; \u65e5\u672c\u8a9e and \u4e2d\u6587.",
          "the cat sat on the mat and the dog ran to the tree"] * 4
texts = ["The quick brown fox", "the  cats  don't\tworry\n\n about 12345 caf\u00e9s", " leading and trailing ", "",
         "CAF\u00c9 Z\u00dcRICH na\u0131ve \u01c5", "\u65e5\u672c\u8a9e\u4e2d\u6587 mixed\u4e2dwith words", "e\u0301 combined \u212b",
         "emoji \U0001f600 and \u200b zero width", "[MASK] of [CLS] and <mask> or </s> <|endoftext|>there",
         "<extra_id_1> of</s>the<extra_id_4> \ufb01sh\n\n\n  three   spaces [control_1]", "<s>the</s> <bos> 4 \n\t",
         "<special> words<special>here  <pad> new_word NEW_WORD",
         "de_DE the cat </s>en_XX<mask>  <mask_1> of<mask_2>the <unk_3>dog", "x" * 120, "tabs\tand\u00a0spaces\r\nlines"]
pairs = [("the cat sat", "on the mat"), ("", "dog"), ("Fox?", " ")]


def write(name, **files):
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file, content in files.items():
        stem, dot, ending = file.rpartition("_")
        file = folder / f"{stem}.{ending}"
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content if isinstance(content, str) else json.dumps(content))
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


def pieces(**options):
    """A SentencePiece model. `rules`: of normalization; the usual ones take 240 KB."""
    rules = options.pop("rules", None)
    if rules:
        file = here / "rules.tsv"
        file.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n"
                                for a, b in rules.items()))
        options["normalization_rule_tsv"] = str(file)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=model, hard_vocab_limit=False,
                                             minloglevel=2, **options)
    (here / "rules.tsv").unlink(missing_ok=True)
    return model.getvalue()


def token(content, special, **flags):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": special} | flags


def sentencepiece_folders():
    """Each with the class that AutoTokenizer takes."""
    bytes_too = dict(model_type="bpe", vocab_size=420, byte_fallback=True, split_digits=True,
                     normalization_rule_name="identity", remove_extra_whitespaces=False,
                     allow_whitespace_only_pieces=True)
    llama = pieces(**bytes_too, user_defined_symbols=["new_word"])

    def folder(name, model_type, **files):
        return write(name, config_json={"model_type": model_type}, **files), transformers.AutoTokenizer
    yield folder("spm_llama", "llama", tokenizer_model=llama, tokenizer_config_json={
        "tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False,
        "bos_token": token("<s>", True), "eos_token": token("</s>", True), "unk_token": token("<unk>", True),
        "pad_token": None})
    yield folder("spm_llama_legacy", "llama", tokenizer_model=llama, tokenizer_config_json={
        "tokenizer_class": "LlamaTokenizerFast", "legacy": True, "add_eos_token": True, "pad_token": "<pad>",
        "additional_special_tokens": ["<special>"]})
    yield folder("spm_llama_added", "llama", tokenizer_model=llama, tokenizer_config_json={
        "tokenizer_class": "LlamaTokenizer", "add_prefix_space": False, "add_bos_token": True,
        "added_tokens_decoder": {"0": token("<unk>", True), "1": token("<s>", True), "2": token("</s>", True),
                                 "420": token("<special>", True, lstrip=True), "421": token("NEW_WORD", False)}},
                 special_tokens_map_json={"bos_token": "<s>", "eos_token": "<special>"})
    yield folder("spm_plain", "mistral", tokenizer_model=pieces(**bytes_too, control_symbols=["[control_1]"]),
                 tokenizer_config_json={"tokenizer_class": "LlamaTokenizer", "add_bos_token": True,
                                        "added_tokens_decoder": {"3": token("<special>", True)}})
    ernie = pieces(**bytes_too | dict(remove_extra_whitespaces=True, normalization_rule_name="identity"),
                   user_defined_symbols=["new_word", "word", "a.b"], control_symbols=["[control_1]", "[control_2]"])
    yield folder("spm_ernie", "ernie4_5_moe", tokenizer_model=ernie, tokenizer_config_json={
        "tokenizer_class": "Ernie4_5_Tokenizer", "add_bos_token": False, "legacy": False,
        "added_tokens_decoder": {"3": token("[control_2]", True), "4": token("[control_1]", True)}})
    yield folder("spm_phi3", "phi3", tokenizer_model=pieces(**bytes_too, add_dummy_prefix=False, user_defined_symbols=["\t"]),
                 tokenizer_config_json={"tokenizer_class": "LlamaTokenizer", "add_eos_token": True})
    yield folder("spm_gemma", "gemma2", tokenizer_config_json={"add_bos_token": True}, tokenizer_model=pieces(
        **bytes_too, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
        user_defined_symbols=["<special>", "\t"], add_dummy_prefix=False))
    rules = {"\ufb01": "fi", "\u00a0": " ", "\u212b": "\u00c5", "e\u0301": "\u00e9"}
    unigram = dict(model_type="unigram", vocab_size=120, rules=rules)
    yield folder("spm_xlm_roberta", "xlm-roberta", **{"sentencepiece.bpe_model": pieces(**unigram)}, tokenizer_config_json={
        "tokenizer_class": "XLMRobertaTokenizer", "mask_token": token("<mask>", True, lstrip=True), "cls_token": "<s>",
        "sep_token": "</s>", "model_max_length": 512})
    yield folder("spm_t5", "t5", spiece_model=pieces(**unigram, pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
                 tokenizer_config_json={"extra_ids": 5, "tokenizer_class": "T5Tokenizer"})
    yield folder("spm_mbart_50", "mbart", **{"sentencepiece.bpe_model": pieces(**unigram)}, tokenizer_config_json={
        "tokenizer_class": "MBart50Tokenizer", "src_lang": "de_DE", "tgt_lang": None, "mask_token": "<mask>"})
    yield folder("spm_mbart_50_plain", "mbart", **{"sentencepiece.bpe_model": pieces(
        model_type="unigram", vocab_size=110, normalization_rule_name="identity")}, tokenizer_config_json={
        "tokenizer_class": "MBart50Tokenizer",
        "additional_special_tokens": [*mbart_50.FAIRSEQ_LANGUAGE_CODES, "<special>"]})
    yield folder("spm_pegasus", "pegasus", spiece_model=pieces(**unigram, pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    yield folder("spm_pegasus_named", "pegasus", spiece_model=pieces(
        model_type="unigram", vocab_size=110, normalization_rule_name="identity", pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
        tokenizer_config_json={"tokenizer_class": "PegasusTokenizer", "offset": 12, "mask_token": "<mask_2>",
                               "mask_token_sent": "<mask_1>",
                               "additional_special_tokens": ["<mask_1>", *(f"<unk_{i}>" for i in range(2, 12))]})
    framed = pieces(**unigram, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
                    eos_piece="[SEP]", unk_piece="[UNK]")
    yield folder("spm_deberta", "deberta-v2", spm_model=framed)
    yield folder("spm_deberta_unnamed", "deberta-v2", spm_model=pieces(**unigram))  # no piece is called [UNK]
    yield folder("spm_deberta_lower", "deberta-v2", spm_model=framed, tokenizer_config_json={
        "do_lower_case": True, "split_by_punct": True, "tokenizer_class": "DebertaV2Tokenizer", "vocab_type": "spm",
        "add_prefix_space": False, "added_tokens_decoder": {"75": token("<special>", True)}})


def folders():
    T = transformers
    yield from sentencepiece_folders()
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
    yield write("longformer", **framed, config_json={"model_type": "longformer"}), T.AutoTokenizer
    bracketed = byte_pieces(["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"])
    yield write("deberta", **bracketed, config_json={"model_type": "deberta"}, tokenizer_config_json={
        "do_lower_case": False, "vocab_type": "gpt2"}), T.AutoTokenizer
    size = len(plain["vocab_json"])
    yield write("qwen2", **plain, tokenizer_config_json={
        "tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<special>", "pad_token": "<|endoftext|>",
        "added_tokens_decoder": {str(size + i): {"content": token, "lstrip": False, "normalized": False, "rstrip": False,
                                                 "single_word": False, "special": special}
                                 for i, (token, special) in enumerate([("<special>", True), ("new_word", False)])}
    }), T.Qwen2Tokenizer
    # Chats have tokens that the tokenizer.json of a base model lacks.
    alone = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
             "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                                 "use_regex": True},
             "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                       "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                       "vocab": plain["vocab_json"], "merges": plain["merges_txt"].splitlines()[1:]}}
    fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
    listed = {"special": token("<special>", True), "new": token("new_word", False, normalized=True, lstrip=True)}
    both = [{"id": size + i} | token(each, False, normalized=True) for i, each in enumerate(["<special>", "new_word"])]
    with_both = alone | {"added_tokens": [{k: v for k, v in each.items() if k != "__type"} for each in both]}
    decoder = {str(size): listed["special"], str(size + 1): listed["new"]}
    yield write("listed", tokenizer_json=alone, tokenizer_config_json=fast | {"added_tokens_decoder": decoder}), \
        T.PreTrainedTokenizerFast
    yield write("listed_flags", tokenizer_json=with_both, tokenizer_config_json=fast | {
        "added_tokens_decoder": decoder}), T.PreTrainedTokenizerFast
    yield write("listed_older", tokenizer_json=alone, tokenizer_config_json=fast,
                added_tokens_json={"new_word": size + 1, "<special>": size},
                special_tokens_map_json={"eos_token": "<special>"}), T.PreTrainedTokenizerFast
    acids = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
    yield write("esm", vocab_txt="\n".join(acids), config_json={"model_type": "esm"}, tokenizer_config_json={
        "tokenizer_class": "EsmTokenizer"}), T.EsmTokenizer
    yield write("rwkv", rwkv_vocab_v20230424_txt=Rwkv.some_of_it(), config_json={"model_type": "rwkv7"}), Rwkv


class Rwkv:
    """The authors' own, in place of one of transformers."""

    file = "rwkv_vocab_v20230424.txt"

    def __init__(self, folder):
        self.trie = TRIE_TOKENIZER(str(folder / self.file))

    @classmethod
    def from_pretrained(cls, folder):
        return cls(folder)

    def __call__(self, text, second="", return_token_type_ids=False):
        first, second = self.trie.encode(text), self.trie.encode(second)
        return {"input_ids": first + second, "token_type_ids": [0] * len(first) + [1] * len(second)}

    def decode(self, ids, **_):
        return self.trie.decode(ids)

    @classmethod
    def some_of_it(cls):
        """The lines of the published file whose bytes are in these texts, and those of single bytes, numbered anew."""
        lines = (pathlib.Path(rwkv.__file__).parent / cls.file).read_text(encoding="utf-8").splitlines()
        found = "\n".join([*corpus, *texts]).encode()
        literals = [line.partition(" ")[2] for line in lines]
        kept = []
        for literal in literals:
            value = ast.literal_eval(literal.rpartition(" ")[0])
            value = value.encode() if isinstance(value, str) else value
            if len(value) == 1 or value in found:
                kept.append(literal)
        return "".join(f"{i} {literal}\n" for i, literal in enumerate(kept, 1))


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
