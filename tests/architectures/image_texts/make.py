"""Writes what models that write what images say lack to be run, and what transformers generates of images.

    python3 -m venv venv && venv/bin/pip install torch transformers pillow
    venv/bin/python tests/architectures/make_image_texts.py && venv/bin/python tests/architectures/image_texts/make.py

NAME/ is what models/NAME lacks; expected.json has the tokens of each of the images in ../images/files, greedy and with
beams.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers as T
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

here = pathlib.Path(__file__).parent
photos = ["photo.png", "gray.png", "black_and_white.png", "palette.png"]
# Which options of generate() are tried.
ways = {"greedy": dict(max_new_tokens=12), "beams": dict(max_new_tokens=9, num_beams=3, num_return_sequences=3)}


def write_files(name, processor):
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(53)}, unk_token="w51"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    T.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="w0", pad_token="w1", eos_token="w2",
                              unk_token="w51").save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(processor, indent=2) + "\n")


def generated(name):
    with tempfile.TemporaryDirectory() as folder:
        for source in (here.parent / "models" / name, here / name):
            shutil.copytree(source, folder, dirs_exist_ok=True)
        model = T.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        processor = T.AutoImageProcessor.from_pretrained(folder)
    out = {}
    for photo in photos:
        image = Image.open(here.parent / "images" / "files" / photo).convert("RGB")
        pixels = processor(image, return_tensors="pt")["pixel_values"]
        out[photo] = {way: [ids_of(row) for row in model.generate(pixel_values=pixels, do_sample=False, **options)]
                      for way, options in ways.items()}
    return out


def ids_of(row):
    """Without the token that a text begins with, and what stands behind its end."""
    ids = row.tolist()[1:]
    return ids[:ids.index(2)] if 2 in ids else ids


if __name__ == "__main__":
    T.logging.set_verbosity_error()
    write_files("trocr", dict(image_processor_type="ViTImageProcessor", size={"height": 12, "width": 20}))
    write_files("trocr_deit", dict(feature_extractor_type="DeiTFeatureExtractor", do_center_crop=False, resample=3,
                                   size={"height": 12, "width": 20}))
    write_files("blip", dict(image_processor_type="BlipImageProcessor", size={"height": 12, "width": 12}))
    write_files("vit_gpt2", dict(feature_extractor_type="ViTFeatureExtractor", resample=2,
                                 size={"height": 12, "width": 20}))
    write_files("vit_bert", dict(feature_extractor_type="ViTFeatureExtractor", size={"height": 12, "width": 20}))
    expected = {name: generated(name) for name in ("trocr", "trocr_deit", "blip", "vit_gpt2", "vit_bert")}
    (here / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
