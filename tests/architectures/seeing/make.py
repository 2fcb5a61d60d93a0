"""Writes what models/llava and models/llava_full lack to talk, and what transformers answers about images.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers pillow
    venv/bin/python tests/architectures/make_seeing.py && venv/bin/python tests/architectures/seeing/make.py

talking/ has a tokenizer and a chat template; expected.json has, for each model, conversations, their prompts as text and
as token ids, and the ids of greedy answers. Images are those of images/files.
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


def write_talking():
    tokenizer = Tokenizer(models.WordLevel({"<image>" if i == IMAGE else f"w{i}": i for i in range(53)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="w1 $A", special_tokens=[("w1", 1)])
    tokenizer.add_special_tokens([AddedToken("<image>", normalized=False, special=True)])
    fast = T.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="w1", eos_token="w2", unk_token="w0",
                                     pad_token="w0")
    shutil.rmtree(here / "talking", ignore_errors=True)
    fast.save_pretrained(here / "talking")
    (here / "talking" / "chat_template.jinja").write_text(TEMPLATE)
    return fast


def user(text, images=0):
    return {"role": "user", "content": [{"type": "image"}] * images + [{"type": "text", "text": text}]}


# The two likeliest tokens of each step are far apart, so that one step of 255 in a pixel changes no answer.
CONVERSATIONS = [
    {"messages": [user("w38 w19 w5", 1)], "images": ["photo.png"]},
    {"messages": [user("w38 w19 w5", 1)], "images": ["turned.png"]},
    {"messages": [user("w11", 1), {"role": "assistant", "content": "w9 w10"}, user("w16 w6", 1)],
     "images": ["photo.png", "palette.png"]},
    {"messages": [user("w5 w39", 2)], "images": ["gray.png", "palette.png"]},
    {"messages": [{"role": "user", "content": "w3 w4 w5"}], "images": []},
]


def answers(name, tokenizer):
    model = T.AutoModelForImageTextToText.from_pretrained(here.parent / "models" / name, dtype=torch.float32).eval()
    config = model.config
    of_clip = config.vision_config.model_type == "clip_vision_model"
    processor = T.LlavaProcessor(
        T.AutoImageProcessor.from_pretrained(here.parent / "models" / name), tokenizer, chat_template=TEMPLATE,
        patch_size=config.vision_config.patch_size, num_additional_image_tokens=int(of_clip),
        vision_feature_select_strategy=config.vision_feature_select_strategy)
    out = []
    for each in CONVERSATIONS:
        images = [ImageOps.exif_transpose(Image.open(files / file)).convert("RGB") for file in each["images"]]
        prompt = processor.apply_chat_template(each["messages"], add_generation_prompt=True)
        inputs = processor(text=prompt, images=images or None, return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            found = model.generate(**inputs, do_sample=False, max_new_tokens=6, min_new_tokens=6)
        ids = inputs["input_ids"][0].tolist()
        out.append(each | {"prompt": prompt, "ids": ids, "answer": found[0, len(ids):].tolist()})
    return out


if __name__ == "__main__":
    tokenizer = write_talking()
    expected = {name: answers(name, tokenizer) for name in ("llava", "llava_full")}
    (here / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
