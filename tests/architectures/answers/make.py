"""Writes tiny models that answer questions, and what the pipeline "question-answering" of transformers finds with them.

    python tests/architectures/answers/make.py

Needs the PyPI packages torch and transformers, the latter below 5, which has no such pipeline. The files are committed;
this is how they were made.
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
text = ("The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs! She'll say: don't worry, "
        "we've got 1234 reasons. Caf\u00e9 na\u00efve, Z\u00fcrich; the cat sat on the mat and the dog ran to the tree.")
pairs = [["Who jumps?", "The quick brown fox jumps over the lazy dog."], ["Where is the caf\u00e9?", text],
         ["the the dog cat", text + " " + text.upper()], ["box?", "a dog"], ["reasons", "Z\u00fcrich na\u00efve caf\u00e9s 12 5"]]
settings = [{}, {"top_k": 4}, {"top_k": 3, "max_answer_len": 2}, {"top_k": 2, "handle_impossible_answer": True}]


def main():
    T = transformers
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=28)
    expected = {}
    bert = T.BertTokenizerFast(str(tokenizers / "bert" / "vocab.txt"), model_max_length=40)
    roberta = T.RobertaTokenizerFast(str(tokenizers / "roberta" / "vocab.json"), str(tokenizers / "roberta" / "merges.txt"),
                                     model_max_length=64)
    for name, tokenizer, model_class, config in [
            ("bert", bert, T.BertForQuestionAnswering, T.BertConfig(vocab_size=len(bert), max_position_embeddings=64, **sizes)),
            ("roberta", roberta, T.RobertaForQuestionAnswering,
             T.RobertaConfig(vocab_size=len(roberta), max_position_embeddings=66, type_vocab_size=1, **sizes)),
            ("longformer", roberta, T.LongformerForQuestionAnswering,
             T.LongformerConfig(vocab_size=len(roberta), max_position_embeddings=66, type_vocab_size=1, attention_window=[8],
                                **sizes))]:
        torch.manual_seed(5)
        model = randomized(model_class(config)).eval()
        shutil.rmtree(here / name, ignore_errors=True)
        model.save_pretrained(here / name)
        tokenizer.save_pretrained(here / name)
        for file in ("vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json"):
            (here / name / file).unlink(missing_ok=True)
        answer = T.pipeline("question-answering", model=model, tokenizer=tokenizer)
        expected[name] = []
        for setting in settings:
            found = [answer(question=question, context=context, **setting) for question, context in pairs]
            expected[name].append([each if isinstance(each, list) else [each] for each in found])
    (here / "expected.json").write_text(json.dumps(
        {"pairs": pairs, "settings": settings, "answers": expected}, separators=(",", ":")))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
