"""Writes tiny models that read pages, and what transformers finds with them.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers pillow
    venv/bin/python tests/architectures/pages/make.py

The files are committed; this is how they were made. page.png, small.png and page.tsv are a page, the last as Tesseract writes it.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import numpy
import torch
import transformers as T
from PIL import Image
from tokenizers import Tokenizer
from transformers.pipelines.document_question_answering import select_starts_ends

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from randomized import randomized  # noqa: E402

tokenizers = here.parent / "tokenizers"
width, height = 200, 160
texts = ("Invoice No. 1024 The quick brown fox Caf\u00e9 na\u00efve, Z\u00fcrich; Total: 12.50 EUR don't worry we've got 1234 "
         "reasons <s> dog").split()
questions = ["What is the  total?", "dog", " Who jumps over the lazy dog in Z\u00fcrich "]
longest = 64  # tokens, which the page has more than, so that it is read in parts


def words():
    """Words in lines, each with its box in pixels: left, top, width, height."""
    out, x, y = [], 7, 5
    for i, text in enumerate(texts * 2):
        side = 6 * len(text)
        if x + side > width - 3:
            x, y = 4, y + 13
        out.append((text, (x, y, side, 9 + i % 3)))
        x += side + 5
    return out


def write_page():
    y, x = numpy.mgrid[0:height, 0:width]
    pixels = numpy.stack([255 - (x * 3 + y) % 97, 255 - (x + 5 * y) % 61, 255 - (x * y) % 43], -1)
    page = Image.fromarray(pixels.astype(numpy.uint8))
    page.save(here / "page.png")
    page.resize((20, 20)).save(here / "small.png")  # which models take as it is
    columns = "level page_num block_num par_num line_num word_num left top width height conf text".split()
    rows = [columns, [1, 1, 0, 0, 0, 0, 0, 0, width, height, -1, ""], [2, 1, 1, 0, 0, 0, 4, 5, 190, 140, -1, ""],
            [5, 1, 1, 1, 1, 1, 0, 0, width, height, 95, " "]]  # what Tesseract takes a picture for
    rows += [[5, 1, 1, 1, 1, i + 2, *box, 96.5, text] for i, (text, box) in enumerate(words())]
    (here / "page.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def boxes():
    """As transformers/models/layoutlmv3/image_processing_layoutlmv3.py has them."""
    return [[int(1000 * (x / width)), int(1000 * (y / height)), int(1000 * ((x + w) / width)), int(1000 * ((y + h) / height))]
            for _, (x, y, w, h) in words()]


def parts_of(model, processor, question):
    """What the model takes: the page in parts, with the numbers of their words."""
    given = ([question], [texts * 2]) if question is not None else ([texts * 2],)
    truncated = dict(truncation="only_second" if question is not None else True, max_length=longest,
                     stride=min(longest // 2, 256), return_overflowing_tokens=True)
    encoding = processor.tokenizer(*given, boxes=[boxes()], **truncated)
    file = here / ("page.png" if type(model) is T.LayoutLMv3ForTokenClassification else "small.png")
    pixels = processor.image_processor(Image.open(file), return_tensors="pt")["pixel_values"]
    for i in range(len(encoding["input_ids"])):
        tensors = {key: torch.tensor(encoding[key][i : i + 1]) for key in ("input_ids", "attention_mask", "bbox")}
        seen = {"pixel_values": pixels} if model.config.visual_embed else {}
        yield tensors | seen, encoding.word_ids(i), encoding.sequence_ids(i)


def labels_of_words(model, processor):
    """Of each word's first token, in the part where most tokens stand around it."""
    parts = list(parts_of(model, processor, None))
    best = {}
    begin = 0  # of the part, among the page's tokens
    for p, (inputs, ids, _) in enumerate(parts):
        with torch.no_grad():
            scores = model(**inputs).logits.softmax(-1)[0]
        own = [i for i, word in enumerate(ids) if word is not None]
        for at, i in enumerate(own):
            before, behind = at if p else 10**6, len(own) - 1 - at if p + 1 < len(parts) else 10**6
            token, around, _ = best.get(ids[i], (10**6, -1, None))
            if begin + at < token or (begin + at == token and min(before, behind) > around):
                best[ids[i]] = begin + at, min(before, behind), scores[i]
        begin += len(own) - min(longest // 2, 256)
    return [dict(word=word, scores={model.config.id2label[i]: float(s) for i, s in enumerate(best[word][2])})
            for word in sorted(best)]


def answers_of(model, processor, question, most):
    best = {}
    for inputs, ids, sequences in parts_of(model, processor, question):
        with torch.no_grad():
            found = model(**inputs)
        mask = numpy.array([sequence != 1 for sequence in sequences])[None]
        mask[0, 0] = False  # it stands for no answer
        begins, ends = (logits.numpy()[:, : len(ids)] for logits in (found.start_logits, found.end_logits))  # not of the image
        starts, ends, scores, _ = select_starts_ends(
            begins, ends, mask, inputs["attention_mask"].numpy(), min_null_score=1e6, top_k=400, max_answer_len=15)
        for start, end, score in zip(starts, ends, scores):
            key = ids[start], ids[end]
            best[key] = max(best.get(key, 0), float(score))
    ranked = sorted(best.items(), key=lambda each: -each[1])[:most]
    return [dict(text=" ".join((texts * 2)[a : b + 1]), first=a, last=b, score=score) for (a, b), score in ranked]


def prefixes():
    """Whether a text begins with a space: by the class, tokenizer.json and tokenizer_config.json."""
    written = json.loads((here / "words" / "tokenizer.json").read_text())
    out = []
    for name in ("LayoutLMv3Tokenizer", "RobertaTokenizerFast", "LongformerTokenizer", "BartTokenizer", "GPT2Tokenizer",
                 "WhisperTokenizer", "PreTrainedTokenizerFast"):
        for in_json in (True, False):
            for in_config in (True, False, None):
                with tempfile.TemporaryDirectory() as folder:
                    for part in ("pre_tokenizer", "post_processor"):
                        written[part]["add_prefix_space"] = in_json
                    config = {"tokenizer_class": name} | ({} if in_config is None else {"add_prefix_space": in_config})
                    (pathlib.Path(folder) / "tokenizer.json").write_text(json.dumps(written))
                    (pathlib.Path(folder) / "tokenizer_config.json").write_text(json.dumps(config))
                    tokenizer = T.AutoTokenizer.from_pretrained(folder).backend_tokenizer
                out.append([name, in_json, in_config, tokenizer.encode("dog", add_special_tokens=False).ids])
    return out


def split_words():
    """Words that a tokenizer takes one by one: token ids, and the number of each token's word."""
    tokenizer = Tokenizer.from_file(str(here / "words" / "tokenizer.json"))
    lists = [["the", "", "dog", " ", "don't", "a b", "Caf\u00e9", "<s>", "x</s>y"], ["dog"], [""]]
    found = [tokenizer.encode(words, is_pretokenized=True) for words in lists]
    found += [tokenizer.encode(first, second, is_pretokenized=True) for first in lists for second in lists]
    return [lists, [[each.ids, [-1 if word is None else word for word in each.word_ids]] for each in found]]


def main():
    write_page()
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=28, coordinate_size=4,
                 shape_size=4, input_size=20, patch_size=5, max_2d_position_embeddings=1024, max_position_embeddings=128,
                 type_vocab_size=1, pad_token_id=1, rel_pos_bins=8, max_rel_pos=16, rel_2d_pos_bins=8, max_rel_2d_pos=256)
    image = T.LayoutLMv3ImageProcessor(apply_ocr=False, size={"height": 20, "width": 20})
    tokenizer = T.LayoutLMv3Tokenizer.from_pretrained(tokenizers / "roberta", model_max_length=longest)
    processor = T.LayoutLMv3Processor(image, tokenizer)
    expected = dict(texts=texts * 2, boxes=boxes(), questions=questions)
    torch.manual_seed(7)
    classes = {i: name for i, name in enumerate(["O", "B-TOTAL", "B-DATE"])}
    for name, kind, more in [("words", T.LayoutLMv3ForTokenClassification, {}),
                             ("unseeing", T.LayoutLMv3ForTokenClassification, {"visual_embed": False}),
                             ("classes", T.LayoutLMv3ForSequenceClassification, {}),
                             ("answers", T.LayoutLMv3ForQuestionAnswering, {})]:
        config = T.LayoutLMv3Config(vocab_size=len(tokenizer), id2label=classes, **sizes, **more)
        if name == "answers":
            config = T.LayoutLMv3Config(vocab_size=len(tokenizer), num_labels=2, **sizes)
        model = randomized(kind(config)).eval()
        shutil.rmtree(here / name, ignore_errors=True)
        model.save_pretrained(here / name)
        processor.save_pretrained(here / name)
        if name == "answers":
            expected[name] = [answers_of(model, processor, question, 3) for question in questions]
        elif name == "classes":
            inputs, _, _ = next(parts_of(model, processor, None))
            with torch.no_grad():
                scores = model(**inputs).logits.softmax(-1)[0]
            expected[name] = {classes[i]: float(score) for i, score in enumerate(scores)}
        else:
            expected[name] = labels_of_words(model, processor)
    expected |= dict(prefixes=prefixes(), split_words=split_words())
    (here / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
