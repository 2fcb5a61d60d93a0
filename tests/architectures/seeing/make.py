"""Writes what models that see lack to talk, and what transformers answers about images.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers pillow
    venv/bin/python tests/architectures/make_seeing.py && venv/bin/python tests/architectures/seeing/make.py

talking/ has a tokenizer and a chat template, talking_gemma3/ and talking_idefics3/ those of others, talking_paligemma/ a
tokenizer alone; expected.json has, for each model, conversations, their prompts as text and as token ids, and the ids of
greedy answers. whole.json has the same where images are seen as a whole, without tiles, and prompts.json for prompts of
models that do not talk. Images are those of images/files.
"""

import json
import pathlib
import shutil

import torch
import transformers as T
from PIL import Image, ImageOps
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

here = pathlib.Path(__file__).parent
files = here.parent / "images" / "files"
IMAGE = 50
TEMPLATE = (
    "{% for message in messages %}{{ 'w40 ' if message.role == 'user' else 'w41 ' }}"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<image> {% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{{ ' ' }}"
    "{% endfor %}{% if add_generation_prompt %}w41{% endif %}")

INTERNVL_TEMPLATE = TEMPLATE.replace("<image>", "<IMG_CONTEXT>")
GEMMA3_TEMPLATE = TEMPLATE.replace("<image>", "<start_of_image>")

# As published for Idefics3 and SmolVLM, it knows parts alone.
IDEFICS3_TEMPLATE = (
    "{% for message in messages %}{{ 'w40 ' if message['role'] == 'user' else 'w41 ' }}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% elif part['type'] == 'image' %}{{ '<image> ' }}{% endif %}{% endfor %}{{ ' ' }}"
    "{% endfor %}{% if add_generation_prompt %}w41{% endif %}")


def write_talking(folder, special, template, words={}, **named):
    """`special`: tokens by their ids. `words`: others that are not called after their ids. `named`: what special ones are
    for."""
    bos = special.get(1, "w1")
    vocabulary = {(special | words).get(i, f"w{i}"): i for i in range(53)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, 1)])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special.values()])
    fast = T.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token="w2", unk_token="w0",
                                     pad_token="w0", extra_special_tokens=named)
    shutil.rmtree(here / folder, ignore_errors=True)
    fast.save_pretrained(here / folder)
    if template is None:
        return fast
    if template == IDEFICS3_TEMPLATE:  # where it is published
        (here / folder / "chat_template.json").write_text(json.dumps({"chat_template": template}, indent=2) + "\n")
    else:
        (here / folder / "chat_template.jinja").write_text(template)
    return fast


def user(text, images=0, before=""):
    """`before`: a text before the images."""
    texts = [[{"type": "text", "text": part}] if part else [] for part in (before, text)]
    return {"role": "user", "content": texts[0] + [{"type": "image"}] * images + texts[1]}


# The two likeliest tokens of each step are far apart, so that one step of 255 in a pixel changes no answer.
CONVERSATIONS = [
    {"messages": [user("w38 w19 w5", 1)], "images": ["photo.png"]},
    {"messages": [user("w38 w19 w5", 1)], "images": ["turned.png"]},
    {"messages": [user("w11", 1), {"role": "assistant", "content": "w9 w10"}, user("w16 w6", 1)],
     "images": ["photo.png", "palette.png"]},
    {"messages": [user("w5 w39", 2)], "images": ["gray.png", "palette.png"]},
    {"messages": [{"role": "user", "content": "w3 w4 w5"}], "images": []},
    {"messages": [user("w38 w6", 1, "w3 w4 w5 w6 w7 w8 w9 ")], "images": ["photo.png"]},
]


def llava(config, images, tokenizer):
    """Its processor."""
    of_clip = config.vision_config.model_type == "clip_vision_model"
    return T.LlavaProcessor(
        images, tokenizer, chat_template=TEMPLATE, patch_size=config.vision_config.patch_size,
        num_additional_image_tokens=int(of_clip), vision_feature_select_strategy=config.vision_feature_select_strategy)


def gemma3(config, images, tokenizer):
    return T.Gemma3Processor(images, tokenizer, chat_template=GEMMA3_TEMPLATE, image_seq_length=config.mm_tokens_per_image)


def idefics3(config, images, tokenizer):
    """Of SmolVLM, too, which writes the same for images."""
    vision = config.vision_config
    return T.Idefics3Processor(images, tokenizer, chat_template=IDEFICS3_TEMPLATE,
                               image_seq_len=(vision.image_size // vision.patch_size // config.scale_factor) ** 2)


class InternVL:
    """As InternVLProcessor does it, which needs a processor of videos, too."""

    def __init__(self, config, images, tokenizer):
        patches = config.vision_config.image_size[0] // config.vision_config.patch_size[0]
        self.images, self.tokenizer = images, tokenizer
        self.tokens = "<IMG_CONTEXT>" * int((patches * config.downsample_ratio) ** 2)

    def apply_chat_template(self, messages, **options):
        return self.tokenizer.apply_chat_template(messages, chat_template=INTERNVL_TEMPLATE, tokenize=False, **options)

    def __call__(self, text, images, **options):
        seen = self.images(images, crop_to_patches=True, return_tensors="pt") if images else {}
        for count in seen.pop("num_patches", []):
            text = text.replace("<IMG_CONTEXT> ", f"<img>{self.tokens * int(count)}</img>", 1)
        return self.tokenizer(text, **options) | seen


def in_parts(message):
    content = message["content"]
    return message | {"content": [{"type": "text", "text": content}] if isinstance(content, str) else content}


def answers(name, tokenizer, processor_of, **settings):
    """`settings`: of its preprocessor."""
    model = T.AutoModelForImageTextToText.from_pretrained(here.parent / "models" / name, dtype=torch.float32).eval()
    images = T.AutoImageProcessor.from_pretrained(here.parent / "models" / name, **settings)
    processor = processor_of(model.config, images, tokenizer)
    out = []
    for each in CONVERSATIONS:
        images = [ImageOps.exif_transpose(Image.open(files / file)).convert("RGB") for file in each["images"]]
        prompt = processor.apply_chat_template(list(map(in_parts, each["messages"])), add_generation_prompt=True)
        inputs = processor(text=prompt, images=images or None, return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            found = model.generate(**inputs, do_sample=False, max_new_tokens=6, min_new_tokens=6)
        ids = inputs["input_ids"][0].tolist()
        out.append(each | {"prompt": prompt, "ids": ids, "answer": found[0, len(ids):].tolist()})
    return out


PROMPTS = [
    {"prompt": "w38 w19 w5", "images": ["photo.png"]},
    {"prompt": "w38 w19 w5", "images": ["turned.png"]},
    {"prompt": "<image><image>w5 w39", "images": ["gray.png", "palette.png"]},
    {"prompt": "w3", "images": ["photo.png"]},
    {"prompt": "<image>w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22", "images": ["palette.png"]},
]


def continued(name, tokenizer):
    model = T.AutoModelForImageTextToText.from_pretrained(here.parent / "models" / name, dtype=torch.float32).eval()
    images = T.AutoImageProcessor.from_pretrained(here.parent / "models" / name)
    images.image_seq_length = model.config.text_config.num_image_tokens
    processor = T.PaliGemmaProcessor(images, tokenizer)
    out = []
    for each in PROMPTS:
        pictures = [ImageOps.exif_transpose(Image.open(files / file)).convert("RGB") for file in each["images"]]
        inputs = processor(text=[each["prompt"]], images=[pictures], return_tensors="pt")
        del inputs["labels"]
        with torch.no_grad():
            found = model.generate(**inputs, do_sample=False, max_new_tokens=6, min_new_tokens=6,
                                   return_dict_in_generate=True, output_scores=True)
        ids = inputs["input_ids"][0].tolist()
        margin = min(float(-scores[0].topk(2).values.diff()) for scores in found.scores)
        print(f"{name}: the two likeliest are {margin:.2f} apart, or more")
        out.append(each | {"ids": ids, "answer": found.sequences[0, len(ids):].tolist()})
    return out


SIZES = [(1, 1), (1, 1000), (1000, 1), (37, 23), (23, 37), (512, 512), (513, 512), (640, 480), (1023, 767), (2048, 2048),
         (4096, 3), (5000, 4999), (331, 1999), (100, 99), (99, 100), (3000, 1125)]


def grids_of_tiles():
    """Rows and columns of tiles of images of many sizes."""
    out = []
    for longest, side in ((2048, 512), (1456, 364), (1000, 300), (36, 12), (10, 12)):
        processor = T.Idefics3ImageProcessorPil(size={"longest_edge": longest}, max_image_size={"longest_edge": side})
        for width, height in SIZES:
            found = processor(Image.new("RGB", (width, height)), return_row_col_info=True, do_pad=False)
            out.append([longest, side, width, height, found["rows"][0][0], found["cols"][0][0]])
    return out


def grids_by_shape():
    """The same of images that become a grid in their shape: [fewest, most, side, width, height, rows, columns]."""
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas
    out = []
    for fewest, most in ((1, 12), (1, 1), (2, 6), (3, 3), (1, 40)):
        for width, height in SIZES + [(448, 448), (900, 450), (897, 448), (450, 900), (300, 150), (1200, 300)]:
            columns, rows = get_optimal_tiled_canvas((height, width), (448, 448), fewest, most)
            out.append([fewest, most, 448, width, height, *((rows, columns) if rows * columns > 1 else (0, 0))])
    return out


if __name__ == "__main__":
    words = write_talking("talking", {IMAGE: "<image>"}, TEMPLATE)
    expected = {name: answers(name, words, llava) for name in ("llava", "llava_full")}
    named = dict(image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>")
    words = write_talking("talking_gemma3", dict(zip(range(IMAGE, 53), named.values())), GEMMA3_TEMPLATE, {49: "\n\n"},
                          **named)
    expected |= {name: answers(name, words, gemma3) for name in ("gemma3_sees", "gemma3_sees_all")}
    special = dict(zip(range(IMAGE, 53), ("<image>", "<fake_token_around_image>", "<end_of_utterance>")))
    tiles = {20 + 3 * row + column: f"<row_{row + 1}_col_{column + 1}>" for row in range(3) for column in range(3)}
    words = write_talking("talking_idefics3", special, IDEFICS3_TEMPLATE, tiles | {29: "<global-img>", 48: "\n", 49: "\n\n"})
    expected |= {name: answers(name, words, idefics3) for name in ("idefics3_sees", "smolvlm_sees")}
    whole = {name: answers(name, words, idefics3, do_image_splitting=False) for name in ("idefics3_sees", "smolvlm_sees")}
    (here / "whole.json").write_text(json.dumps(whole, indent=1) + "\n")
    named = dict(context_image_token="<IMG_CONTEXT>", start_image_token="<img>", end_image_token="</img>",
                 video_token="<video>")
    words = write_talking("talking_internvl", {**dict(zip(range(IMAGE, 53), named.values())), 49: "<video>"},
                          INTERNVL_TEMPLATE, **named)
    expected |= {name: answers(name, words, InternVL) for name in ("internvl_sees", "internvl_sees_all")}
    words = write_talking("talking_paligemma", {1: "<bos>", IMAGE: "<image>", 49: "\n"}, None, image_token="<image>")
    prompts = {name: continued(name, words) for name in ("paligemma_sees", "paligemma2_sees")}
    (here / "prompts.json").write_text(json.dumps(prompts, indent=1) + "\n")
    (here / "grids.json").write_text("[" + ",\n ".join(map(json.dumps, grids_by_shape())) + "]\n")
    (here / "tiles.json").write_text("[" + ",\n ".join(map(json.dumps, grids_of_tiles())) + "]\n")
    (here / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
