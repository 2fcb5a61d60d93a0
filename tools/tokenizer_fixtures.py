"""Small tokenizers that together use every component that Lamina reads, and their expected results.

    tools/tokenizer_oracle.py fixtures tests/unit/tokenizer/fixtures

NAME.json is the tokenizer, and NAME.expected.json a sample of texts with the results of the PyPI package tokenizers.
digests.txt has, for each tokenizer, the SHA-256 of its results for 6000 texts.
"""

import io
import json
import os

import tokenizer_oracle as oracle
from sentencepiece_charsmap import charsmap
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SAMPLE, WHOLE, SEED = 48, 6000, 9
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CORPUS = [" ".join(oracle.WORDS)] * 3 + oracle.WORDS + oracle.CODE + ["the quick brown fox " * 4, "hello world hello"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def trained(model, trainer, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def bpe_trainer(**options):
    return trainers.BpeTrainer(**{"vocab_size": 420, "show_progress": False, **options})


def byte_bpe(pre_tokenizer, special=("<|end|>",), normalizer=None, **options):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = bpe_trainer(special_tokens=list(special), initial_alphabet=alphabet)
    out = trained(models.BPE(**options), trainer, normalizer, pre_tokenizer)
    out.decoder = decoders.ByteLevel()
    return out


def bert():
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
    )
    out = trained(
        models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30),
        trainer,
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    out.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    out.decoder = decoders.WordPiece()
    return out


def bert_cased():
    out = bert()
    out.normalizer = normalizers.BertNormalizer(clean_text=False, strip_accents=True, lowercase=False)
    out.decoder = decoders.WordPiece(cleanup=False)
    out.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return out


def gpt2():
    out = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True))
    out.post_processor = processors.ByteLevel(trim_offsets=True)
    return out


def roberta():
    out = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False), ("<s>", "</s>"))
    out.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    out.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    return out


def llama3():
    pre = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    out = byte_bpe(pre, ("<|begin|>", "<|eot|>"), ignore_merges=True)
    template = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[("<|begin|>", 0)]
    )
    out.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return out


def qwen():
    pre = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(GPT2), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    return byte_bpe(pre, normalizer=normalizers.NFC())


def byte_normalizer():
    out = byte_bpe(
        pre_tokenizers.Split(Regex("\u0120?[^\u0120]+"), "isolated"),
        normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.ByteLevel()]),
    )
    out.add_tokens([AddedToken("né", normalized=True), AddedToken("ß!", normalized=False)])
    return out


def with_fallback(normalizer, pre_tokenizer=None, **options):
    trainer = bpe_trainer(special_tokens=["<unk>", "<s>", "</s>"] + BYTES, vocab_size=700, limit_alphabet=60)
    first = trained(
        models.BPE(unk_token="<unk>"),
        trainer,
        normalizer,
        pre_tokenizer or pre_tokenizers.Split(Regex("▁?[^▁]+"), "isolated"),
    )
    model = json.loads(first.to_str())["model"]
    merges = [tuple(m) for m in model["merges"]]
    out = Tokenizer(models.BPE(vocab=model["vocab"], merges=merges, unk_token="<unk>", **options))
    out.normalizer = normalizer
    if pre_tokenizer is not None:
        out.pre_tokenizer = pre_tokenizer
    out.add_special_tokens([AddedToken("<s>"), AddedToken("</s>", normalized=True)])
    return out


def llama():
    out = with_fallback(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        byte_fallback=True,
        fuse_unk=True,
    )
    out.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    out.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return out


def gemma():
    out = with_fallback(
        normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), byte_fallback=True
    )
    out.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return out


def no_fallback():
    """Neither byte fallback nor a fused unknown token."""
    out = with_fallback(normalizers.Replace(" ", "▁"), fuse_unk=False)
    out.decoder = decoders.Metaspace(prepend_scheme="never")
    return out


def t5():
    rules = {
        "ﬁ": "fi",
        "½": "1/2",
        "\t": " ",
        "\n": " ",
        "\u3000": " ",
        "\u200b": "",
        "é": "e\u0301",
        "e\u0301x": "E",
        "Å": "Å",
        "ｶﾞ": "ガ",
    }
    trainer = trainers.UnigramTrainer(
        vocab_size=260, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    out = trained(models.Unigram(), trainer, None, pre_tokenizers.Metaspace())
    out.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 1)]
    )
    out.decoder = decoders.Metaspace()
    made = json.loads(out.to_str())
    made["normalizer"] = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": charsmap(rules)},
            {"type": "Strip", "strip_left": False, "strip_right": True},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
        ],
    }
    return Tokenizer.from_str(json.dumps(made))


def unigram_bytes():
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=["<unk>"] + BYTES, unk_token="<unk>", show_progress=False
    )
    made = json.loads(trained(models.Unigram(), trainer, None, pre_tokenizers.Metaspace()).to_str())
    made["model"]["byte_fallback"] = True
    out = Tokenizer.from_str(json.dumps(made))
    out.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    out.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    out.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    out.add_tokens([AddedToken("<extra>", single_word=True), AddedToken("fox", rstrip=True)])
    return out


def clip():
    pre = pre_tokenizers.Split(Regex(r"'s|'t|'re|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)
    normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    out = trained(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
        bpe_trainer(special_tokens=["<unk>"], end_of_word_suffix="</w>"),
        normalizer,
        pre,
    )
    out.decoder = decoders.BPEDecoder("</w>")
    return out


def continued():
    out = trained(
        models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"),
        bpe_trainer(special_tokens=["[UNK]"], continuing_subword_prefix="##", limit_alphabet=80),
        normalizers.Lowercase(),
        pre_tokenizers.Whitespace(),
    )
    out.decoder = decoders.WordPiece("##", cleanup=True)
    return out


def words(normalizer, pre_tokenizer):
    return trained(
        models.WordLevel(unk_token="[UNK]"),
        trainers.WordLevelTrainer(vocab_size=150, special_tokens=["[UNK]"], show_progress=False),
        normalizer,
        pre_tokenizer,
    )


def word_level():
    normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()])
    return words(
        normalizer,
        pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(True)]
        ),
    )


def splits():
    steps = [
        pre_tokenizers.Split(" ", "merged_with_next"),
        pre_tokenizers.Split(Regex("[aeiou]+"), "merged_with_previous"),
        pre_tokenizers.Punctuation("isolated"),
        pre_tokenizers.Digits(False),
        pre_tokenizers.CharDelimiterSplit("x"),
        pre_tokenizers.Split(Regex(r"\w+"), "contiguous", invert=True),
        pre_tokenizers.FixedLength(3),
    ]
    return words(None, pre_tokenizers.Sequence(steps))


def scripts():
    return words(None, pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.FixedLength(2)]))


def added():
    out = words(normalizers.Lowercase(), pre_tokenizers.Whitespace())
    out.add_tokens(
        [
            AddedToken("[Left]", lstrip=True),
            AddedToken("[RIGHT]", rstrip=True, normalized=False),
            AddedToken("cat", single_word=True),
            AddedToken("İ", normalized=True),
            AddedToken("caterpillar"),
            AddedToken("\n\n", normalized=False),
            AddedToken("[both]", lstrip=True, rstrip=True, single_word=True),
        ]
    )
    out.add_special_tokens([AddedToken("<SEP>"), AddedToken("<sep2>", normalized=True)])
    return out


def ctc():
    vocab = {c: i for i, c in enumerate(["<pad>", "<unk>", "|"] + list("abcdefghijklmnopqrstuvwxyz'"))}
    out = Tokenizer(models.WordLevel(vocab, "<unk>"))
    out.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "|")])
    out.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    out.decoder = decoders.CTC()
    return out


ALL = (
    bert,
    bert_cased,
    gpt2,
    roberta,
    llama3,
    qwen,
    byte_normalizer,
    llama,
    gemma,
    no_fallback,
    t5,
    unigram_bytes,
    clip,
    continued,
    word_level,
    splits,
    scripts,
    added,
    ctc,
)


def sample(tokenizer):
    """Every n-th text, to include each kind. Only short ones, because people read these files, too."""
    whole = list(oracle.texts(tokenizer, WHOLE, SEED))
    short = [t for t in whole if len(t) <= 40]
    chosen = short[:: max(1, len(short) // SAMPLE)][:SAMPLE]
    for i, text in enumerate(chosen):
        second = chosen[i - 1] if i % 8 == 7 else None
        e = tokenizer.encode(text) if second is None else tokenizer.encode(text, second)
        decode = lambda skip: tokenizer.decode(e.ids, skip_special_tokens=skip)
        yield [
            text,
            second,
            e.ids,
            e.tokens,
            [n for o in e.offsets for n in o],
            e.type_ids,
            decode(False),
            decode(True),
        ]


def write_sentencepiece(folder):
    """spm.model, and the results of the PyPI package sentencepiece for texts: ids, begins and ends, and the decoded text."""
    import sentencepiece

    path = os.path.join(folder, "spm.model")
    with open(path, "wb") as out:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS),
            model_writer=out,
            vocab_size=220,
            minloglevel=2,
            normalization_rule_name="identity",
        )
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    with open(os.path.join(folder, "spm_texts.json"), "w") as out:
        lines = []
        for text in ["hello world", "  the  quick\tfox ", "\uff48\uff45llo \u00bd", "Привет мир 你好", "", "a" * 30]:
            pieces = processor.encode(text, return_type="proto").pieces
            ids = [p.id for p in pieces]
            lines.append(json.dumps([text, ids, [n for p in pieces for n in (p.begin, p.end)], processor.decode(ids)]))
        out.write("[\n" + ",\n".join(lines) + "\n]\n")


def write(folder):
    write_sentencepiece(folder)
    with open(os.path.join(folder, "digests.txt"), "w") as digests:
        for make in ALL:
            path = os.path.join(folder, make.__name__ + ".json")
            made = json.loads(make().to_str())
            with open(path, "w") as out:
                json.dump(made, out, ensure_ascii=False, separators=(",", ":"))
            tokenizer = oracle.load(path)
            with open(os.path.join(folder, make.__name__ + ".expected.json"), "w") as out:
                lines = (json.dumps(each, separators=(",", ":")) for each in sample(tokenizer))
                out.write("[\n" + ",\n".join(lines) + "\n]\n")
            digests.write(f"{oracle.expect(tokenizer, WHOLE, SEED, io.BytesIO())}  {make.__name__}\n")
