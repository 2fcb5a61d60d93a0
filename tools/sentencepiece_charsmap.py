"""SentencePiece's compiled form of a map from texts to texts: a double array (darts-clone), here without its size
optimizations."""

import base64
import struct


def charsmap(rules):
    texts, places = b"", {}
    for to in rules.values():
        places[to] = len(texts)
        texts += to.encode() + b"\0"
    units, used = [0] * 4096, {0}

    def place(position, children):
        labels = sorted(children)
        base = next(b for b in range(1, 4096) if all(b ^ label not in used and (b ^ label) < 4096 for label in labels))
        used.update(base ^ label for label in labels)
        units[position] |= (base ^ position) << 10
        for label in labels:
            if label == 0:
                units[base] = 1 << 31 | children[0]
                units[position] |= 1 << 8
            else:
                units[base ^ label] = label
        for label in labels:
            if label:
                place(base ^ label, children[label])

    trie = {}
    for text, to in rules.items():
        node = trie
        for byte in text.encode():
            node = node.setdefault(byte, {})
        node[0] = places[to]
    place(0, trie)
    return base64.b64encode(struct.pack("<I", 4 * 4096) + struct.pack("<4096I", *units) + texts).decode()
