"""The same as make.py for models that see images of any size: writes any_size.json and gemma4_sees.png.

    venv/bin/python tests/architectures/make_any_size.py && venv/bin/python tests/architectures/seeing/make_any_size.py
"""

import json

import numpy as np
import torch
import transformers as T
from PIL import Image, ImageOps
from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size
from transformers.models.pixtral.image_processing_pil_pixtral import get_resize_output_image_size
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from make import TEMPLATE, files, here, user

# The two likeliest tokens of each step are far apart, so that one step of 255 in a pixel changes no answer.
CONVERSATIONS = [
    {"messages": [user("w38 w19 w5", 1)], "images": ["photo.png"]},
    {"messages": [user("w38 w19 w5", 1)], "images": ["turned.png"]},
    {"messages": [user("w11", 1), {"role": "assistant", "content": "w9 w10"}, user("w16 w6", 1)],
     "images": ["photo.png", "alpha.png"]},
    {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "w5 "}, {"type": "image"},
                                               {"type": "text", "text": "w39"}]}],
     "images": ["gray_16.png", "palette.png"]},
    {"messages": [{"role": "user", "content": "w3 w4 w5"}], "images": []},
]


def opened(file):
    """As Lamina opens it: what is transparent is white."""
    image = ImageOps.exif_transpose(Image.open(files / file))
    if image.mode in ("RGBA", "LA", "PA"):
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    if image.mode.startswith("I"):
        image = image.point(lambda value: value / 257).convert("L")
    return image.convert("RGB")


def seen_by_qwen(folder, images):
    """What the model is given of images, and what is read for each of them. As Qwen2VLProcessor does it, which needs a
    processor of videos, too."""
    processor = T.AutoImageProcessor.from_pretrained(folder)
    inputs = processor(images, return_tensors="pt")
    return inputs, ["<image> " * (int(grid.prod()) // processor.merge_size ** 2) for grid in inputs["image_grid_thw"]]


def seen_by_pixtral(folder, images):
    """The same as PixtralProcessor does it, which needs torchvision."""
    settings = json.loads((folder / "processor_config.json").read_text())
    side = settings["patch_size"] * settings["spatial_merge_size"]
    inputs = T.AutoImageProcessor.from_pretrained(folder)(images, patch_size=side, return_tensors="pt")
    texts = []
    for rows, columns in (inputs["image_sizes"] // side).tolist():
        text = ("<image> " * columns + settings["image_break_token"] + " ") * rows
        texts.append(text.removesuffix(settings["image_break_token"] + " ") + settings["image_end_token"] + " ")
    return inputs, texts


def seen_by_gemma(folder, images):
    """The same as Gemma4Processor does it, which needs a processor of videos and sound, too."""
    inputs = T.AutoImageProcessor.from_pretrained(folder)(images, return_tensors="pt")
    counts = inputs.pop("num_soft_tokens_per_image")
    return inputs, ["w51 " + "<image> " * int(count) + "w52 " for count in counts]


def write_pixels(name, file):
    """What the model is given of an image, as an image."""
    inputs = T.AutoImageProcessor.from_pretrained(here.parent / "models" / name)([opened(file)], return_tensors="np")
    places = inputs["image_position_ids"][0]
    columns, rows = places.max(0) + 1
    patch = int((inputs["pixel_values"].shape[-1] // 3) ** 0.5)
    pixels = inputs["pixel_values"][0][:rows * columns].reshape(rows, columns, patch, patch, 3).swapaxes(1, 2)
    pixels = (pixels.reshape(rows * patch, columns * patch, 3) * 255).round().astype(np.uint8)
    Image.fromarray(pixels).save(here / f"{name}.png")


def answers(name):
    folder = here.parent / "models" / name
    model = T.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    model.config.get_text_config()._experts_implementation = "eager"  # others want longer rows
    tokenizer = T.AutoTokenizer.from_pretrained(here / "talking")
    qwen, gemma = "qwen" in name, "gemma" in name
    seen_by = seen_by_qwen if qwen else seen_by_gemma if gemma else seen_by_pixtral
    out = []
    for each in CONVERSATIONS:
        prompt = tokenizer.apply_chat_template(each["messages"], chat_template=TEMPLATE,
                                               add_generation_prompt=True, tokenize=False)
        images = [opened(file) for file in each["images"]]
        inputs, texts = seen_by(folder, images) if images else ({}, [])
        text = "".join(word + seen for word, seen in zip(prompt.split("<image> "), texts + [""]))
        tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        if qwen or gemma:
            inputs["mm_token_type_ids"] = (tokens == model.config.image_token_id).to(torch.int64)
        with torch.no_grad():
            found = model.generate(tokens, attention_mask=torch.ones_like(tokens), **inputs, do_sample=False,
                                   max_new_tokens=6, min_new_tokens=6, return_dict_in_generate=True, output_scores=True)
        ids = tokens[0].tolist()
        margin = min(float(-scores[0].topk(2).values.diff()) for scores in found.scores)
        print(f"{name}: {len(ids)} tokens; the two likeliest are {margin:.2f} apart, or more")
        out.append(each | {"prompt": prompt, "ids": ids, "answer": found.sequences[0, len(ids):].tolist()})
    return out


def sizes(name):
    """Widths and heights of images, and how many rows and columns of patches they become."""
    processor = T.AutoImageProcessor.from_pretrained(here.parent / "models" / name)
    patch, square = processor.patch_size, processor.patch_size * processor.merge_size
    out = []
    for width, height in [(1, 1), (8, 8), (16, 16), (20, 12), (12, 20), (28, 36), (37, 23), (4, 800), (800, 4), (41, 41),
                          (100, 100), (640, 480), (13, 500), (39, 40), (199, 1), (1000, 1001)]:
        size = smart_resize(height, width, square, processor.size["shortest_edge"], processor.size["longest_edge"])
        out.append([width, height, *(side // patch for side in size)])
    return out


def limited_sizes(name):
    """The same for a processor that limits the longer side."""
    settings = json.loads((here.parent / "models" / name / "preprocessor_config.json").read_text())
    side, patch = 2 * settings["patch_size"]["width"], settings["patch_size"]["width"]
    out = []
    for width, height in [(1, 1), (8, 8), (9, 7), (40, 40), (41, 40), (40, 41), (64, 48), (33, 100), (100, 33), (400, 13),
                          (1000, 1001), (640, 480), (39, 1)]:
        pixels = np.zeros((3, height, width), dtype=np.uint8)
        size = get_resize_output_image_size(pixels, settings["size"]["longest_edge"], side, "channels_first")
        out.append([width, height, *(length // patch for length in size)])
    return out


def filled_sizes(name):
    """The same for a processor that makes images as large as they may be."""
    processor = T.AutoImageProcessor.from_pretrained(here.parent / "models" / name)
    patch, side = processor.patch_size, processor.pooling_kernel_size
    out = []
    for width, height in [(1, 1), (8, 8), (60, 84), (37, 23), (640, 480), (480, 640), (13, 500), (1, 100), (100, 1), (1, 75),
                          (75, 1), (2000, 1), (1000, 1001), (101, 100), (13, 997)]:
        size = get_aspect_ratio_preserving_size(height, width, patch, processor.max_soft_tokens * side ** 2, side)
        out.append([width, height, *(length // patch for length in size)])
    return out


if __name__ == "__main__":
    expected = {name: answers(name) for name in ("gemma4_sees", "gemma4_sees_together", "llava_pixtral_sees",
                                                 "mistral3_sees", "mistral3_sees_ministral3",
                                                 "qwen2_5_vl_sees", "qwen2_vl_sees", "qwen3_5_moe_sees", "qwen3_5_sees",
                                                 "qwen3_vl_moe_sees", "qwen3_vl_sees")}
    write_pixels("gemma4_sees", "photo.png")
    expected["sizes"] = sizes("qwen2_5_vl_sees")
    expected["filled_sizes"] = filled_sizes("gemma4_sees")
    expected["limited_sizes"] = limited_sizes("mistral3_sees")
    (here / "any_size.json").write_text(json.dumps(expected, indent=1) + "\n")
