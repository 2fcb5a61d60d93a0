"""Writes a tiny model that says whether one text follows from another, and how the pipeline "zero-shot-classification" of
transformers labels texts with it.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/architectures/matches/make.py
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from randomized import randomized  # noqa: E402

texts = ["The quick brown fox jumps over the lazy dog.", "the cat", "a box, five jugs!", "12 reasons to worry"]
labels = ["animals", "the weather", "boxes"]
cases = [{}, {"multi_label": True}, {"hypothesis_template": "It is about {}, and so on."}, {"candidate_labels": ["animals"]}]


def main():
    T = transformers
    tokenizer = T.BertTokenizer(str(here.parent / "tokenizers" / "bert" / "vocab.txt"))
    torch.manual_seed(5)
    config = T.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, hidden_size=24, num_hidden_layers=1,
                          num_attention_heads=3, intermediate_size=28,
                          label2id={"contradiction": 0, "Entailment": 1, "neutral": 2},
                          id2label={0: "contradiction", 1: "Entailment", 2: "neutral"})
    model = randomized(T.BertForSequenceClassification(config)).eval()
    shutil.rmtree(here / "bert", ignore_errors=True)
    model.save_pretrained(here / "bert")
    tokenizer.save_pretrained(here / "bert")
    expected = []
    for first in (False, True):  # whether the class is the first one, which transformers compares with the last
        if first:
            model.config.label2id = {"entailment": 0, "neutral": 1, "contradiction": 2}
        label = T.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
        for case in cases:
            given = {"candidate_labels": labels} | case
            found = [dict(zip(each["labels"], each["scores"])) for each in label(texts, **given)]
            expected.append({"first": first, "sentence": given.get("hypothesis_template", ""),
                             "multi_label": given.get("multi_label", False), "labels": given["candidate_labels"],
                             "scores": found})
    (here / "expected.json").write_text(json.dumps({"texts": texts, "cases": expected}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
