"""Writes tiny SentencePiece tokenizers as T5, Marian and M2M-100 have them, and what transformers makes of texts with them.

    python tests/architectures/sentencepiece/make.py

Needs the PyPI packages sentencepiece, transformers, sacremoses and torch. The files are committed; this is how they were
made. They fit the models t5, marian and m2m_100 of ../models, which have 53 token ids.
"""

import io
import json
import pathlib

import sentencepiece
import transformers

here = pathlib.Path(__file__).parent
english = ["the cat sat on the mat", "a cat and a dog sat there", "the dog ran to the tree", "on and on the dog ran",
           "that tree and the mat there", "a dog sat on a cat"]
german = ["die katze sitzt dort", "der hund und die katze", "der hund ist dort", "und der hund sitzt", "die katze ist da"]


def train(path, lines, size, **ids):
    """Without rules of normalization, which take 240 KB."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 20), model_writer=model, vocab_size=size, normalization_rule_name="identity",
        hard_vocab_limit=False, minloglevel=2, **{"model_type": "unigram"} | ids)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def t5():
    train(here / "t5" / "spiece.model", english, 45, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    size = sentencepiece.SentencePieceProcessor(model_file=str(here / "t5" / "spiece.model")).get_piece_size()
    (here / "t5" / "tokenizer_config.json").write_text(json.dumps({"extra_ids": 53 - size}))
    return transformers.T5Tokenizer.from_pretrained(here / "t5", extra_ids=53 - size)


def marian():
    """One vocabulary for both languages, in an order of its own; a source piece that it lacks is unknown."""
    source = train(here / "marian" / "source.spm", english, 24, bos_id=-1)
    target = train(here / "marian" / "target.spm", german, 24, bos_id=-1)
    pieces = {model.id_to_piece(i) for model in (source, target) for i in range(2, model.get_piece_size())}
    pieces = sorted(pieces - {"</s>", "<unk>"})[:43]
    ids = {"</s>": 0, "<unk>": 1, ">>de<<": 52, "<pad>": 46}
    free = iter(i for i in range(2, 52) if i != 46)
    ids |= {piece: next(free) for piece in pieces}
    (here / "marian" / "vocab.json").write_text(json.dumps(ids))
    return transformers.MarianTokenizer(str(here / "marian" / "source.spm"), str(here / "marian" / "target.spm"),
                                        str(here / "marian" / "vocab.json"))


def m2m_100():
    """Ids in another order than the pieces have; some pieces have none, and some ids have no piece."""
    folder = here / "m2m_100"
    pieces = train(folder / "sentencepiece.bpe.model", english + german, 44, model_type="bpe")
    pieces = sorted(pieces.id_to_piece(i) for i in range(3, pieces.get_piece_size()))[:36]
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {piece: 4 + i for i, piece in enumerate(pieces)}
    ids |= {"madeupword0": len(ids)}
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt21", "src_lang": "de", "tgt_lang": None,
        "additional_special_tokens": [f"__{each}__" for each in ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")]}))
    return transformers.M2M100Tokenizer.from_pretrained(folder)


def main():
    expected = {}
    texts = {"t5": ["the cat sat", "a dog <extra_id_0> there", "xyz on", "the <extra_id_1> ran <extra_id_0>"],
             "marian": ["the cat sat", ">>de<< a dog ran there", "xyz on the mat"],
             "m2m_100": ["die katze  sitzt ", "__en__ the cat</s>", " xyz on the mat", "", "der<unk> hund"]}
    for name, tokenizer in {"t5": t5(), "marian": marian(), "m2m_100": m2m_100()}.items():
        if name == "marian":  # transformers would only change quotes and the like
            tokenizer.punc_normalizer = lambda text: text
        expected[name] = {"encoded": [[text, tokenizer(text).input_ids] for text in texts[name]],
                          "decoded": [[ids, tokenizer.decode(ids, skip_special_tokens=True)]
                                      for ids in ([5, 9, 12, 3, 7, 1 if name == "t5" else 0], [20, 21, 22, 30],
                                                  *([[2, 42, 9, 13, 2]] if name == "m2m_100" else []))]}
    (here / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False))
    print(json.dumps(expected, ensure_ascii=False))


main()
