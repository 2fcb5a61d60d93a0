"""Writes tiny models of masked words, and what the pipeline "fill-mask" of transformers finds with them.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/architectures/masks/make.py
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

tokenizers = here.parent / "tokenizers"
texts = ["The quick brown {} jumps over the lazy dog.", "{} the cat", "a {} box {}, {}jugs!", "Z\u00fcrich na\u00efve {}",
         "the fox and the {} ran to the tree, the dog and the cat sat on the mat, and the {} had 12 reasons to worry"]


def main():
    T = transformers
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=28)
    bert = T.BertTokenizer(str(tokenizers / "bert" / "vocab.txt"))
    roberta = T.RobertaTokenizer(str(tokenizers / "roberta" / "vocab.json"), str(tokenizers / "roberta" / "merges.txt"))
    expected = {}
    for name, tokenizer, model_class, config in [
            ("bert", bert, T.BertForMaskedLM, T.BertConfig(vocab_size=len(bert), max_position_embeddings=64, **sizes)),
            ("roberta", roberta, T.RobertaForMaskedLM,
             T.RobertaConfig(vocab_size=len(roberta), max_position_embeddings=66, type_vocab_size=1, **sizes)),
            ("longformer", roberta, T.LongformerForMaskedLM,
             T.LongformerConfig(vocab_size=len(roberta), max_position_embeddings=66, type_vocab_size=1, attention_window=[8],
                                **sizes))]:
        torch.manual_seed(5)
        model = randomized(model_class(config)).eval()
        shutil.rmtree(here / name, ignore_errors=True)
        model.save_pretrained(here / name)
        tokenizer.save_pretrained(here / name)
        (here / name / "generation_config.json").unlink(missing_ok=True)
        fill = T.pipeline("fill-mask", model=model, tokenizer=tokenizer, top_k=4)
        expected[name] = []
        for text in texts:
            found = fill(text.replace("{}", tokenizer.mask_token))
            masks = found if isinstance(found[0], list) else [found]
            expected[name].append([[{"word": each["token_str"], "token": each["token"], "score": each["score"]}
                                    for each in mask] for mask in masks])
    # As the first files of BERT were published: nothing names the token.
    config = here / "bert" / "tokenizer_config.json"
    settings = json.loads(config.read_text())
    del settings["mask_token"]
    config.write_text(json.dumps(settings, indent=2) + "\n")
    (here / "expected.json").write_text(json.dumps({"texts": texts, "words": expected}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
