"""Writes images in every format, and what Pillow, torchvision and transformers make of them.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers pillow
    venv/bin/python tests/architectures/make_images.py && venv/bin/python tests/architectures/images/make.py

files/ has the images and, as NAME.ppm, their pixels; resized/ has files/photo.png in other sizes; clip/, siglip/ and
vit/ are what models/clip, models/siglip and models/vit lack to take images; expected.json has what their processors and pipelines give, and the ids of tokenizer.json.
"""

import json
import pathlib
import shutil
import sys

import numpy
import torch
import torchvision.transforms.v2.functional as tvf
import transformers as T
from PIL import Image, ImageOps
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers.image_transforms import convert_to_rgb

here = pathlib.Path(__file__).parent
files, resized = here / "files", here / "resized"


def picture(width, height, channels=3):
    """Smooth, with sharp edges and some noise, so that no two pixels and no two directions are alike."""
    y, x = numpy.mgrid[0:height, 0:width]
    noise = numpy.random.default_rng(3).integers(0, 40, (height, width, channels))
    waves = [127 + 90 * numpy.sin(x / (3 + c) + y / (5 - c / 2)) for c in range(channels)]
    out = numpy.stack(waves, -1) + noise
    out[height // 3:height // 2, width // 4:width // 2] = 250 - out[height // 3:height // 2, width // 4:width // 2] / 4
    return numpy.clip(out, 0, 255).astype(numpy.uint8)


def ppm(image, file):
    Image.fromarray(image).save(file)


def write_files():
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    photo = Image.fromarray(picture(37, 23))
    with_alpha = Image.fromarray(picture(17, 12, 4))
    gray = photo.convert("L")
    photo.save(files / "photo.png")
    with_alpha.save(files / "alpha.png")
    gray.save(files / "gray.png")
    gray.convert("1").save(files / "black_and_white.png")
    photo.quantize(11).save(files / "palette.png")
    photo.quantize(13).save(files / "palette_transparent.png", transparency=4)
    gray.convert("LA").save(files / "gray_alpha.png")
    wide = numpy.arange(17 * 12 * 300, step=300).astype(numpy.uint16).reshape(12, 17)
    Image.fromarray(wide).save(files / "gray_16.png")
    photo.save(files / "photo.jpg", quality=90)
    photo.save(files / "progressive.jpg", quality=80, progressive=True)
    gray.save(files / "gray.jpg")
    photo.convert("CMYK").save(files / "inks.jpg")
    for side in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = side
        photo.save(files / f"turned_{side}.jpg", exif=exif, quality=95)
    exif[0x0112] = 6
    photo.save(files / "turned.png", exif=exif)
    photo.save(files / "photo.webp", quality=80)
    with_alpha.save(files / "alpha.webp", lossless=True, exif=exif)
    photo.save(files / "moving.webp", save_all=True, append_images=[ImageOps.invert(photo)], duration=100, lossless=True)
    for file in sorted(files.iterdir()):
        image = ImageOps.exif_transpose(Image.open(file))
        if image.mode == "I;16":
            image = Image.fromarray((numpy.array(image) >> 8).astype(numpy.uint8))
        ppm(convert_to_rgb(image, return_numpy=True), file.with_name(file.name + ".ppm"))


def write_resized():
    shutil.rmtree(resized, ignore_errors=True)
    resized.mkdir()
    photo = torch.from_numpy(numpy.array(Image.open(files / "photo.png"))).permute(2, 0, 1)
    for filter in ("bilinear", "bicubic", "lanczos"):
        for height, width in ((23, 37), (12, 20), (7, 37), (46, 20), (50, 90), (1, 1)):
            out = tvf.resize(photo, [height, width], interpolation=tvf.InterpolationMode(filter), antialias=True)
            ppm(out.permute(1, 2, 0).numpy(), resized / f"{filter}_{height}_{width}.ppm")


def patches(processor, config, side):
    folder = pathlib.Path("/tmp/lamina-processor")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    loaded = processor.from_pretrained(folder)
    pixels = loaded(Image.open(files / "photo.png"), return_tensors="pt")["pixel_values"]
    _, c, h, w = pixels.shape
    rows = pixels.reshape(c, h // side, side, w // side, side).permute(1, 3, 0, 2, 4).reshape(-1)
    return [round(v, 5) for v in rows.tolist()]


def processors_of_configs():
    vit = dict(size={"height": 12, "width": 20})
    old = dict(feature_extractor_type="CLIPFeatureExtractor", size=12, resample=3, do_center_crop=True, crop_size=12,
               do_normalize=True, image_mean=[0.5, 0.4, 0.3], image_std=[0.1, 0.2, 0.3])
    cases = [
        ("vit", T.ViTImageProcessor, vit),
        ("vit", T.ViTImageProcessor, vit | dict(do_rescale=False)),
        ("vit", T.ViTImageProcessor, vit | dict(do_normalize=False, rescale_factor=0.5, resample=3)),
        ("vit", T.ViTImageProcessor, vit | dict(resample=1, image_mean=[0.1, 0.2, 0.3], image_std=[1.0, 0.5, 0.25])),
        ("vit", T.DeiTImageProcessor, dict(image_processor_type="DeiTImageProcessor", size={"height": 30, "width": 31},
                                           crop_size={"height": 12, "width": 20})),
        ("vit", T.DeiTImageProcessor, dict(image_processor_type="DeiTImageProcessorFast", do_resize=False,
                                           crop_size={"height": 12, "width": 20})),
        ("vit", T.BitImageProcessor, dict(image_processor_type="BitImageProcessor", size={"shortest_edge": 9},
                                          crop_size={"height": 12, "width": 20})),  # smaller than what is cut out
        ("vit", T.DINOv3ViTImageProcessor, dict(image_processor_type="DINOv3ViTImageProcessorFast", **vit)),
        ("vit", T.DINOv3ViTImageProcessor, dict(image_processor_type="DINOv3ViTImageProcessorFast", do_center_crop=True,
                                                size={"height": 30, "width": 50}, crop_size={"height": 12, "width": 20},
                                                resample=3, image_mean=[0.1, 0.2, 0.3], image_std=[1.0, 0.5, 0.25])),
        ("clip", T.CLIPImageProcessor, dict(size={"shortest_edge": 12}, crop_size={"height": 12, "width": 12})),
        ("clip", T.CLIPImageProcessor, old),
        ("clip", T.SiglipImageProcessor, dict(image_processor_type="SiglipImageProcessor",
                                              size={"height": 12, "width": 12})),
    ]
    return [{"model": model, "config": config, "patches": patches(processor, config, 4),
             "exact": "DINOv3" in processor.__name__}  # without rounded pixels
            for model, processor, config in cases]


def words():
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(53)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="w1 $A w52", special_tokens=[("w1", 1), ("w52", 52)])
    return tokenizer


def write_siglip_files(folder):
    fast = T.PreTrainedTokenizerFast(tokenizer_object=words(), eos_token="w52", pad_token="w2", unk_token="w0",
                                     model_max_length=64, model_input_names=["input_ids"])
    fast.save_pretrained(folder)
    T.SiglipImageProcessor(size={"height": 12, "width": 12}).save_pretrained(folder)


def write_clip_files(folder):
    tokenizer = words()
    fast = T.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="w1", eos_token="w52", pad_token="w2",
                                     unk_token="w0", model_max_length=16)
    fast.save_pretrained(folder)
    T.CLIPImageProcessor(size={"shortest_edge": 12}, crop_size={"height": 12, "width": 12}).save_pretrained(folder)


def clip_tokenizer():
    """The tokenizer of CLIP with fewer pieces, and the ids that it gives."""
    corpus = ["a photo of a cat", "a photo of a dog's bed in Zürich", "two red cars and 12 people at the beach, smiling"] * 3
    empty = T.CLIPTokenizer().backend_tokenizer
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.normalizer, trained.pre_tokenizer = empty.normalizer, empty.pre_tokenizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trained.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=560, min_frequency=1, initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False))
    parts = json.loads(trained.to_str())["model"]
    vocabulary = parts["vocab"]
    for token in [letter + "</w>" for letter in alphabet] + ["<|startoftext|>", "<|endoftext|>"]:
        vocabulary.setdefault(token, len(vocabulary))
    tokenizer = T.CLIPTokenizer(vocab=vocabulary, merges=[tuple(merge) for merge in parts["merges"]])
    texts = ["a photo of a cat", "A  Photo\n of a dog's BED", "Zürich, 1234 cars!?", "", "日本 <|endoftext|> and é"]
    tokenizer.backend_tokenizer.save(str(here / "tokenizer.json"))
    return {"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts]}


def with_files(name):
    """models/NAME and what it lacks."""
    folder = pathlib.Path("/tmp/lamina-images") / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(here.parent / "models" / name, folder)
    shutil.copytree(here / name, folder, dirs_exist_ok=True)
    return str(folder)


def pipelines():
    photos = [str(files / name) for name in ("photo.png", "turned_6.jpg", "photo.webp")]
    for name in ("clip", "siglip", "vit"):
        shutil.rmtree(here / name, ignore_errors=True)
        (here / name).mkdir()
    T.ViTImageProcessor(size={"height": 12, "width": 20}).save_pretrained(here / "vit")
    write_clip_files(here / "clip")
    write_siglip_files(here / "siglip")
    classes = T.pipeline("image-classification", with_files("vit"), dtype=torch.float32)
    labels = ["w7 w9", "w30", "w51 w12 w3"]
    zero_shot = T.pipeline("zero-shot-image-classification", with_files("clip"), dtype=torch.float32)
    alone = T.pipeline("zero-shot-image-classification", with_files("siglip"), dtype=torch.float32)
    of_siglip = lambda photo: alone(photo, candidate_labels=labels)
    return {"photos": [pathlib.Path(photo).name for photo in photos],
            "classes": [{each["label"]: each["score"] for each in classes(photo, top_k=5)} for photo in photos],
            "labels": labels,
            "scores": [{each["label"]: each["score"] for each in zero_shot(photo, candidate_labels=labels)}
                       for photo in photos],
            "siglip": [{each["label"]: each["score"] for each in of_siglip(photo)} for photo in photos]}


if __name__ == "__main__":
    write_files()
    write_resized()
    expected = {"processors": processors_of_configs(), "tokenizer": clip_tokenizer()} | pipelines()
    (here / "expected.json").write_text(json.dumps(expected) + "\n")
