#!/usr/bin/env python3
"""Compares Lamina's tokenizers with the PyPI package tokenizers.

    pip install tokenizers==0.23.3
    tools/tokenizer_oracle.py expect tokenizer.json [--count N] | build/bin/tokenizer_compare tokenizer.json
    tools/tokenizer_oracle.py compare build/bin/tokenizer_compare [--count N] tokenizer.json...
    tools/tokenizer_oracle.py convert model.gguf tokenizer.json       (needs the package gguf; byte-level BPE of SmolLM)
    tools/tokenizer_oracle.py fixtures tests/unit/tokenizer/fixtures

The texts are derived from a seed and the tokenizer's added tokens: every assigned code point of Unicode, characters of
every block among others, emoji sequences, random bytes, long runs of spaces, code, sentences in many scripts, and each
added token in each position.
"""

import argparse
import hashlib
import os
import random
import struct
import subprocess
import sys

from tokenizers import Tokenizer

BLANKS = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\x0b", "\x85", "\u1680"]
WORDS = """the quick brown fox jumps over a lazy dog don't I'll we've they're HELLO World iPhone O'Neil naïve façade Zürich
straße ŒUVRE İstanbul ısı ΑΘΗΝΑ σίσυφος Привет мир ЁЛКА שלום עולם مرحبا بالعالم السَّلامُ नमस्ते दुनिया ภาษาไทย สวัสดี 你好世界 日本語 テスト
カタカナ ｶﾞ ひらがな 한국어 안녕 Việt Nam Tiếng fi ﬁ ﬂ ½ ² ① Ⅷ ａｂｃ e\u0301 a\u030a\u0323 1\u20e3 \u1e9b\u0323 \u212b \ufdfa 1234567 3.14 1,000
foo_bar __init__ http://example.com/?q=1&r=2 user@example.org C++ #include <b> ``x`` ... --- !!! ?! (a) [b] {c} 100% €5 £6 ¥7""".split()
CODE = (
    """def f(x, y=None):\\n|    return x**2 + y[0]  # note\\n|for (int i = 0; i < n; ++i) {\\n|\\t\\ta[i] += b->c;\\n|}\\n|<div class="x">\\n|
SELECT * FROM t WHERE a='b';\\n|    if not ok:\\n|        raise ValueError(f"{x!r}")\\n|std::vector<int> v{1,2,3};|\\n\\n\\n|/* ... */|// TODO\\n|
{"key": [1, 2.5e-3, null]}|\\r\\n|x = "\\u00e9";|let y = &mut z?;\\n""".replace(
        "\n", ""
    )
    .encode()
    .decode("unicode_escape")
    .split("|")
)
EMOJI = "😀 👍🏽 👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇩🇪 🇫🇷🇯🇵 ❤️ ☺ 🧑🏿\u200d🚀 #️⃣ 🤷\u200d♀️ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 👨🏻\u200d🦰".split(
    " "
)


def is_character(code):
    return not 0xD800 <= code < 0xE000 and code < 0x110000


def every_code_point():
    """All code points of the planes in use, 64 per text."""
    for first, last in ((1, 0x32400), (0xE0000, 0xE01F0), (0xF0000, 0xF0040), (0x10FFC0, 0x10FFFF)):
        for at in range(first, last, 64):
            yield "".join(chr(c) for c in range(at, min(at + 64, last)) if is_character(c))
            yield " ".join("x" + chr(c) for c in range(at, min(at + 64, last), 3) if is_character(c))


def of_a_block(r):
    first = r.choice(
        (r.randrange(0, 0x3000), r.randrange(0, 0x10000), r.randrange(0x10000, 0x20000), r.randrange(0x20000, 0x32000))
    )
    first -= first % 128
    out = []
    for _ in range(r.randrange(1, 24)):
        code = (
            first + r.randrange(128)
            if r.random() < 0.7
            else r.choice((r.randrange(0x20, 0x7F), r.randrange(0x300, 0x370)))
        )
        out.append(chr(code) if is_character(code) else "?")
        if r.random() < 0.2:
            out.append(r.choice(BLANKS + WORDS[:20]))
    return "".join(out)


def sentence(r):
    out = []
    for _ in range(r.randrange(1, 12)):
        word = r.choice(WORDS)
        out.append(r.choice((word, word, word, word.upper(), word.lower(), word.title(), word[: r.randrange(1, 4)])))
        out.append(r.choice((" ", " ", " ", " ", "", ", ", ". ", "-", "  ", "\n", "' ", "'s ")))
    return "".join(out)


def blanks(r):
    run = r.choice(BLANKS) * r.choice((r.randrange(1, 8), r.randrange(1, 70), r.randrange(1, 300)))
    return r.choice(("", r.choice(WORDS))) + run + r.choice(("", r.choice(BLANKS), r.choice(WORDS)))


def random_bytes(r):
    return r.randbytes(r.randrange(1, 40)).decode("utf-8", "replace")


def code(r):
    return "".join(r.choice(CODE) for _ in range(r.randrange(1, 8)))


def emoji(r):
    return "".join(r.choice(EMOJI) + r.choice(("", "", " ", "a", "\ufe0f", "\u200d")) for _ in range(r.randrange(1, 8)))


KINDS = (of_a_block, of_a_block, sentence, sentence, blanks, random_bytes, code, emoji)


def around(token):
    """An added token in each position."""
    return (
        token,
        token + "a",
        "a" + token,
        "a " + token + " b",
        " " + token,
        token + " ",
        "\n" + token + "\t ",
        token * 2,
        token + " " + token,
        "x" + token + "y",
        "." + token + "!",
        token.upper() + token.lower(),
        token[:-1],
        token[1:],
        "Hello" + token + "World  " + token + "  .",
        "  " + token + "  ",
    )


def texts(tokenizer, count, seed):
    tokens = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    r = random.Random(seed)
    made = 0
    for text in [""] + [each for token in tokens for each in around(token)] + list(every_code_point()):
        if made < count // 2:
            made += 1
            yield text
    while made < count:
        text = r.choice(KINDS)(r)
        if r.random() < 0.3:
            text += r.choice(KINDS)(r)
        if tokens and r.random() < 0.1:
            at = r.randrange(len(text) + 1)
            text = text[:at] + r.choice(tokens) + text[at:]
        made += 1
        yield text


def load(path):
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def convert(gguf_file, json_file):
    """The tokenizer of a GGUF file of SmolLM's family, as a tokenizer.json."""
    import gguf
    from tokenizers import AddedToken, decoders, models, pre_tokenizers

    fields = gguf.GGUFReader(gguf_file).fields
    value = lambda key: fields["tokenizer.ggml." + key].contents()
    if (value("model"), value("pre")) != ("gpt2", "smollm"):
        sys.exit(f"{gguf_file}: expected model gpt2 and pre smollm, found {value('model')} and {value('pre')}")
    tokens = value("tokens")
    merges = [tuple(merge.split(" ")) for merge in value("merges")]
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, type in zip(tokens, value("token_type")) if type == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    tokenizer.save(json_file)


def expected(tokenizer, text, second=None):
    encoding = tokenizer.encode(text) if second is None else tokenizer.encode(text, second)
    out = [bytes([second is not None])]
    put = lambda s: out.append(struct.pack("<I", len(s.encode())) + s.encode())
    put(text)
    if second is not None:
        put(second)
    out.append(struct.pack("<I", len(encoding.ids)))
    for id, (begin, end), type in zip(encoding.ids, encoding.offsets, encoding.type_ids):
        out.append(struct.pack("<IIII", id, begin, end, type))
    put(tokenizer.decode(encoding.ids, skip_special_tokens=False))
    put(tokenizer.decode(encoding.ids, skip_special_tokens=True))
    return b"".join(out)


def expect(tokenizer, count, seed, out):
    """Writes the expected results for `count` texts, every eighth with a second text, and returns a digest of them."""
    digest = hashlib.sha256()
    before = ""
    for i, text in enumerate(texts(tokenizer, count, seed)):
        record = expected(tokenizer, text, before if i % 8 == 7 else None)
        before = text
        digest.update(record)
        out.write(record)
    return digest.hexdigest()


def compare(program, paths, count, seed):
    failed = False
    for path in paths:
        child = subprocess.Popen([program, path], stdin=subprocess.PIPE)
        digest = expect(load(path), count, seed, child.stdin)
        child.stdin.close()
        failed |= child.wait() != 0
        print(f"    expected: sha256 {digest}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("expect", "compare"):
        command = commands.add_parser(name)
        if name == "compare":
            command.add_argument("program")
        command.add_argument("tokenizer", nargs="+" if name == "compare" else 1)
        command.add_argument("--count", type=int, default=100000)
        command.add_argument("--seed", type=int, default=9)
    converts = commands.add_parser("convert")
    converts.add_argument("gguf")
    converts.add_argument("json")
    commands.add_parser("fixtures").add_argument("folder")
    arguments = parser.parse_args()
    if arguments.command == "expect":
        expect(load(arguments.tokenizer[0]), arguments.count, arguments.seed, sys.stdout.buffer)
    elif arguments.command == "compare":
        sys.exit(compare(arguments.program, arguments.tokenizer, arguments.count, arguments.seed))
    elif arguments.command == "convert":
        convert(arguments.gguf, arguments.json)
    else:
        import tokenizer_fixtures

        os.makedirs(arguments.folder, exist_ok=True)
        tokenizer_fixtures.write(arguments.folder)


if __name__ == "__main__":
    main()
