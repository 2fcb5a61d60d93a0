#!/usr/bin/env python3
"""Writes runtime/tokenizer/unicode_tables.hpp: the properties of characters as the PyPI package tokenizers has them.

    pip install tokenizers==0.23.3
    tools/tokenizer_tables.py > runtime/tokenizer/unicode_tables.hpp

That package combines several versions of Unicode, from 2015 to that of its compiler, and models were trained with its
results. So this script queries its properties, character by character, and Lamina does not depend on the Unicode version
of the system's libraries.
"""

import base64
import unicodedata

from sentencepiece_charsmap import charsmap
from tokenizers import Regex
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

CHARACTERS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def splits(pre_tokenizer):
    """The characters at which the pre-tokenizer splits."""
    return [c for c in CHARACTERS if len(pre_tokenizer.pre_tokenize_str("a" + chr(c) + "a")) != 1]


def removed(normalizer):
    return [c for c in CHARACTERS if normalizer.normalize_str("a" + chr(c) + "a") == "aa"]


def matched(regex):
    pre_tokenizer, out = P.Split(Regex(regex), "removed", invert=True), []
    for at in range(0, len(CHARACTERS), 50000):
        text = "".join(map(chr, CHARACTERS[at : at + 50000]))
        out += [ord(c) for piece, _ in pre_tokenizer.pre_tokenize_str(text) for c in piece]
    return out


def ranges(characters, same=lambda a, b: True):
    out = []
    for c in characters:
        if out and out[-1][1] == c - 1 and same(out[-1][1], c):
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def print_table(comment, declaration, entries):
    print(f"\n// {comment}\ninline constexpr {declaration}[] = {{")
    line = "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > 120:
            print(line)
            line = "   "
        line += " " + entry + ","
    print(line + "\n};")


def print_ranges(name, comment, characters):
    print_table(comment, f"CharacterRange {name}", [f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges(characters)])


def bert(**options):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return N.BertNormalizer(**{**off, **options})


def normalizes():
    """Characters with a decomposition, or that move among marks: U+0345 has the highest class of all."""
    nfkd, nfd = N.NFKD(), N.NFD()
    moved = lambda c: c != 0x345 and nfd.normalize_str("a\u0345" + chr(c)) == "a" + chr(c) + "\u0345"
    return [c for c in CHARACTERS if nfkd.normalize_str(chr(c)) != chr(c) or moved(c) or c == 0x345]


def lower_case():
    """Runs of every, or every second, character with the same distance to its lower case."""
    lowercase = N.Lowercase()
    changed = [(c, lowercase.normalize_str(chr(c))) for c in CHARACTERS]
    runs = []
    for c, shift in ((c, ord(to) - c) for c, to in changed if to != chr(c) and len(to) == 1):
        last = runs[-1] if runs else None
        if last and last[3] == shift and c - last[1] in ((1, 2) if last[0] == last[1] else (last[2],)):
            last[1], last[2] = c, c - last[1]
        else:
            runs.append([c, c, 1, shift])
    return runs


def late_marks():
    """Characters of later versions of Unicode that extend the character before them."""
    normalizer = N.Precompiled(base64.b64decode(charsmap({"A": "B"})))
    joins = lambda c: normalizer.normalize_str("A" + chr(c)) == "B"
    return [c for c in CHARACTERS if unicodedata.category(chr(c)) == "Cn" and joins(c)]


def scripts():
    """The script of each character that has one: the first character of that script."""
    pre_tokenizer, members, out = P.UnicodeScripts(), [], {}
    together = lambda a, b: len(pre_tokenizer.pre_tokenize_str(chr(a) + chr(b))) == 1
    for c in [0] + CHARACTERS:
        if together(ord("A"), c) and together(ord("1"), c):
            continue  # goes with every script
        last = out.get(c - 1)
        if last is None or not together(last, c):
            last = next((first for first in members if together(first, c)), c)
            if last == c:
                members.append(c)
        out[c] = last
    return out


def stand_ins():
    """Characters that regular expressions know there and may not know here (this Python's Unicode is older than both),
    each beside one of the same kind and the same length in UTF-8."""
    kinds = {
        "Lu": (0x10A0, 0x10400),
        "Ll": (0x1D00, 0x10428),
        "Lm": (0x1D2C, 0x16F93),
        "Lo": (0x10D0, 0x10000),
        "Mn": (0x0900, 0x10A01),
        "Mc": (0x0903, 0x11000),
        "Nd": (0x0966, 0x104A0),
        "Nl": (0x2160, 0x10140),
        "No": (0x2153, 0x10107),
        "Pd": (0x2010, 0x10EAD),
        "Po": (0x2020, 0x10100),
        "Sc": (0x20AC, 0x11FDD),
        "Sk": (0x309B, 0x1F3FB),
        "Sm": (0x2201, 0x1D6C1),
        "So": (0x2100, 0x10137),
        "Cf": (0x200B, 0x110BD),
    }
    han = set(matched(r"\p{Han}"))
    out = {}
    for kind, (short, long) in kinds.items():
        for c in matched(rf"\p{{{kind}}}"):
            if unicodedata.category(chr(c)) == "Cn":
                out[c] = 0x20000 if c in han and c > 0xFFFF else 0x4E00 if c in han else short if c < 0x10000 else long
    return dict(sorted(out.items()))


def main():
    print("// Made by tools/tokenizer_tables.py, which says why these are not the system's. Sorted.")
    print("#pragma once\n\n#include <cstdint>\n\n// clang-format off\nnamespace lamina::tokenizer {\n")
    print("struct CharacterRange {\n    uint32_t first, last; // both inclusive\n};")
    print("struct ScriptRange {\n    uint32_t first, last, script;\n};")
    print("struct LowerCaseRun {\n    uint32_t first, last, step;\n    int32_t shift;\n};")
    print("struct CharacterStandIn {\n    uint32_t first, last, other;\n};")
    print_ranges("whitespace_ranges", "White_Space.", splits(P.WhitespaceSplit()))
    print_ranges("punctuation_ranges", "Punctuation of BERT: P*, and ASCII's symbols.", splits(P.Punctuation()))
    print_ranges("control_ranges", "What BERT removes: Cc, Cf, Co.", removed(bert(clean_text=True)))
    print_ranges("nonspacing_mark_ranges", "Accents of BERT: Mn.", removed(bert(strip_accents=True)))
    print_ranges("mark_ranges", "Accents of StripAccents: M*.", removed(N.StripAccents()))
    print_ranges("numeric_ranges", "Digits: N*.", splits(P.Digits(True)))
    outside = set(splits(P.Whitespace()))
    print_ranges("word_ranges", r"\w of regular expressions.", [c for c in CHARACTERS if c not in outside])
    print_ranges("normalizing_ranges", "What normal forms may change.", normalizes())
    print_ranges("late_mark_ranges", "Parts of the character before, too new for some libraries.", late_marks())
    first = scripts()
    numbers = {c: i + 1 for i, c in enumerate(dict.fromkeys(first.values()))}
    entries = [
        f"{{0x{a:X}, 0x{b:X}, {numbers[first[a]]}}}" for a, b in ranges(first, lambda a, b: first[a] == first[b])
    ]
    print_table("Scripts. Han, Hiragana and Katakana are one.", "ScriptRange script_ranges", entries)
    runs = [f"{{0x{a:X}, 0x{b:X}, {step}, {shift}}}" for a, b, step, shift in lower_case()]
    print_table("Lower case, where it is one character.", "LowerCaseRun lower_case_runs", runs)
    other = stand_ins()
    entries = [f"{{0x{a:X}, 0x{b:X}, 0x{other[a]:X}}}" for a, b in ranges(other, lambda a, b: other[a] == other[b])]
    print_table(
        "Characters too new for some regex libraries, and older ones of the same kind.",
        "CharacterStandIn stand_ins",
        entries,
    )
    print("\n} // namespace lamina::tokenizer")


if __name__ == "__main__":
    main()
