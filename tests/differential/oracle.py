"""What transformers makes of a folder: numbers, or why it refuses."""

import copy
import json
import math
import os
import pathlib
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import save_file

import models

BATCH, LENGTH, LENGTHS, TARGET = 2, 12, (12, 7), 9
SAMPLES = 24  # values of each output that are kept

os.environ["HF_HUB_OFFLINE"] = "1"
torch.set_num_threads(1)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")

AUTO = (transformers.AutoModelForMaskedLM, transformers.AutoModelForCausalLM, transformers.AutoModelForSeq2SeqLM,
        transformers.AutoModelForSpeechSeq2Seq, transformers.AutoModelForCTC, transformers.AutoModelForSequenceClassification,
        transformers.AutoModelForTokenClassification, transformers.AutoModelForImageClassification,
        transformers.AutoModelForImageTextToText, transformers.AutoModel)


class Refused(Exception):
    pass


def names_of(classes):
    return classes if isinstance(classes, (tuple, list)) else (classes,)


class Oracle:
    """Loads a base with changes. `config` and `tensors` are the base's; see changes.py for what a change is."""

    def __init__(self, base):
        self.base, self.folder = base, tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.stored = None
        name = base.model_class.__name__
        self.auto = next(a for a in AUTO if name in names_of(a._model_mapping._model_mapping.get(base.family)))

    def write(self, change):
        config, tensors = changed(self.base, change)
        (self.path / "config.json").write_text(json.dumps(config))
        if tensors != self.stored:
            save_file({name: models.tensor(name, kind) for name, kind in tensors.items()},
                      self.path / "model.safetensors", metadata={"format": "pt"})
            self.stored = tensors

    def verdict(self, change):
        """{output: {shape, largest, sample}} or {"refused": why}."""
        self.write(change)
        try:
            if "model_type" in change.get("set", {}) or {"text_config", "encoder"} & set(self.base.config):
                self.refuse_large()
            with torch.no_grad():
                return {name: digest(rows) for name, rows in self.compute().items()}
        except Exception as error:  # whatever transformers throws
            lines = [line for line in str(error).splitlines() if line.strip()]
            return {"refused": f"{type(error).__name__}: {' '.join(lines)}".replace(str(self.path), "")[:90]}

    def refuse_large(self):
        """With another model type, or without a part's settings, sizes may be the defaults of large models: no files that
        fit would be so small."""
        config = transformers.AutoConfig.from_pretrained(self.path)
        with torch.device("meta"):
            count = sum(p.numel() for p in self.auto.from_config(config).parameters())
        if count > 10_000_000:
            raise Refused("far larger than the files")

    def compute(self):
        model, info = self.auto.from_pretrained(self.path, dtype=torch.float32, attn_implementation="eager",
                                                output_loading_info=True)
        missing = {name for name in info["missing_keys"] if not name.endswith("masked_spec_embed")}  # for training
        unpooled = {"pooler.dense.weight", "pooler.dense.bias"}  # files of models that are not used pooled lack these
        if self.base.family in ("deberta", "deberta-v2"):
            unpooled = set()  # there they are of the head
        if unpooled <= missing:
            missing -= unpooled
        if missing or info["mismatched_keys"] or info["error_msgs"]:
            raise Refused(f"missing {sorted(missing)[:1]} mismatched {list(info['mismatched_keys'])[:1]}")
        model.eval()
        out = run(model, self.base.family)
        if set(info["missing_keys"]) & unpooled:
            out.pop("pooled", None)
        return out


def run(model, family):
    ids = models.ids("ids", BATCH, LENGTH)
    mask = torch.arange(LENGTH)[None] < torch.tensor(LENGTHS)[:, None]
    valid = lambda x: torch.cat([x[b, :length].reshape(-1) for b, length in enumerate(LENGTHS)])
    if family in ("vit", "deit", "dinov2", "dinov3_vit", "clip", "siglip"):
        return run_on_images(model, family, ids)
    if family == "whisper":
        samples = torch.tensor(models.uniform("samples", BATCH * 2 * 160 * 11)).reshape(BATCH, -1)
        extractor = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)
        features = torch.tensor(extractor._np_extract_fbank_features(samples.to(torch.float32).numpy(), "cpu"))
        r = model(input_features=features, decoder_input_ids=models.ids("target", BATCH, TARGET), return_dict=True)
        return {"hidden": r.encoder_last_hidden_state.reshape(-1), "logits": r.logits.reshape(-1)}
    if family in ("blip", "vision-encoder-decoder"):
        vision = model.config.vision_config if family == "blip" else model.config.encoder
        pixels = models.patches(BATCH, (vision.image_size // vision.patch_size) ** 2, vision.patch_size)
        rest = vision.image_size - pixels.shape[-1]  # right of the last patch, and below
        pixels, target = torch.nn.functional.pad(pixels, (0, rest, 0, rest)), models.ids("target", BATCH, TARGET)
        if family == "blip":
            r = model(pixel_values=pixels, input_ids=target, return_dict=True)
            return {"hidden": r.last_hidden_state.reshape(-1), "logits": r.logits.reshape(-1)}
        r = model(pixel_values=pixels, decoder_input_ids=target, return_dict=True)
        return {"hidden": r.encoder_last_hidden_state.reshape(-1), "logits": r.logits.reshape(-1)}
    if family == "moonshine":
        count = ((LENGTH - 1) * 2 + 3 - 1) * 3 + 7  # of steps of its first convolution, for LENGTH frames
        count = (count - 1) * 64 + 127
        samples = torch.tensor(models.uniform("samples", BATCH * count)).reshape(BATCH, -1).to(torch.float32)
        r = model(input_values=samples, decoder_input_ids=models.ids("target", BATCH, TARGET), return_dict=True)
        return {"hidden": r.encoder_last_hidden_state.reshape(-1), "logits": r.logits.reshape(-1)}
    if family in ("hubert", "wav2vec2", "wavlm"):
        count, convolutions = LENGTH, model.config.num_feat_extract_layers  # of frames, with no samples left over
        for kernel, stride in reversed(list(zip(model.config.conv_kernel, model.config.conv_stride))[:convolutions]):
            count = (count - 1) * stride + kernel
        samples = torch.tensor(models.uniform("samples", BATCH * count)).reshape(BATCH, -1).to(torch.float32)
        return {"logits": model(samples, return_dict=True).logits.reshape(-1)}
    if family == "layoutlmv3":
        return run_on_pages(model, ids, mask, valid)
    if family in ("bart", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5"):
        r = model(input_ids=ids, attention_mask=mask.long(), decoder_input_ids=models.ids("target", BATCH, TARGET),
                  return_dict=True)
        return {"hidden": valid(r.encoder_last_hidden_state), "logits": r.logits.reshape(-1)}
    if family == "llava":  # what it says of texts alone, and what it sees
        vision = model.config.vision_config
        pixels = models.patches(BATCH, (vision.image_size // vision.patch_size) ** 2, vision.patch_size)
        seen = model.model.get_image_features(pixel_values=pixels, vision_feature_select_strategy="full", return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": torch.cat([each.reshape(-1) for each in seen.pooler_output])}
    if family == "gemma3":
        vision = model.config.vision_config
        side = vision.image_size // vision.patch_size
        pixels = models.patches(BATCH, side ** 2, vision.patch_size, side // math.isqrt(model.config.mm_tokens_per_image))
        rest = vision.image_size - pixels.shape[-1]  # right of the last patch, and below
        seen = model.model.get_image_features(pixel_values=torch.nn.functional.pad(pixels, (0, rest, 0, rest)),
                                              return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": seen.pooler_output.reshape(-1)}
    if family == "gemma4" and model.config.vision_config is not None:
        pixels, places = models.patches_of_gemma4(6, 10, model.config.vision_config.patch_size)
        seen = model.model.get_image_features(pixels, places, return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": torch.cat([each.reshape(-1) for each in seen.pooler_output])}
    if family == "internvl":
        (rows, columns), side = model.config.vision_config.image_size, model.config.vision_config.patch_size[0]
        pixels = models.patches(BATCH, rows // side * (columns // side), side, round(1 / model.config.downsample_ratio))
        seen = model.model.get_image_features(pixel_values=pixels, return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": seen.pooler_output.reshape(-1)}
    if family == "mistral3":
        rows, columns, side = 6, 10, model.config.vision_config.patch_size
        pixels = models.pixels_of_any_size(rows, columns, side, 2)
        sizes = torch.tensor([[rows * side, columns * side]])
        seen = model.model.get_image_features(pixels, sizes, return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": torch.cat([each.reshape(-1) for each in seen.pooler_output])}
    if family == "paligemma":
        vision = model.config.vision_config
        pixels = models.patches(BATCH, (vision.image_size // vision.patch_size) ** 2, vision.patch_size)
        seen = model.model.get_image_features(pixel_values=pixels, return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": seen.pooler_output.reshape(-1)}
    if family in ("idefics3", "smolvlm"):
        vision = model.config.vision_config
        pixels = models.patches(BATCH, (vision.image_size // vision.patch_size) ** 2, vision.patch_size,
                                model.config.scale_factor)
        seen = model.model.get_image_features(pixel_values=pixels[:, None], return_dict=True)
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": torch.cat([each.reshape(-1) for each in seen.pooler_output])}
    if family in ("qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe"):
        vision, grid = model.config.vision_config, torch.tensor([[1, 6, 10]])
        pixels = models.patches_of_any_size(60, vision.patch_size, vision.temporal_patch_size)
        seen = model.model.get_image_features(pixels, grid, return_dict=True)
        details = seen.get("deepstack_features", [])[:model.config.text_config.num_hidden_layers]
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1),
                "tokens": torch.cat([torch.cat(parts, -1) for parts in zip(seen.pooler_output, *details)]).reshape(-1)}
    if model.can_generate():
        return {"logits": model(input_ids=ids, return_dict=True).logits.reshape(-1)}
    ids = ids * mask + 1 * ~mask
    more = {}
    if getattr(model.config, "type_vocab_size", 1) == 2:
        more["token_type_ids"] = (torch.arange(LENGTH) >= 6).long()[None].expand(BATCH, -1)
    r = model(input_ids=ids, attention_mask=mask.long(), return_dict=True, **more)
    out = {}
    if "last_hidden_state" in r:
        out["hidden"] = valid(r.last_hidden_state)
    if r.get("pooler_output") is not None:
        out["pooled"] = r.pooler_output.reshape(-1)
    if "logits" in r:
        out["logits"] = valid(r.logits) if r.logits.dim() == 3 else r.logits.reshape(-1)
    return out


def run_on_images(model, family, ids):
    config = model.config.vision_config if family in ("clip", "siglip") else model.config
    pixels = models.patches(BATCH, (config.image_size // config.patch_size) ** 2, config.patch_size)
    rest = config.image_size - pixels.shape[-1]  # right of the last patch, and below
    pixels = torch.nn.functional.pad(pixels, (0, rest, 0, rest))
    if family not in ("clip", "siglip"):
        r = model(pixel_values=pixels, return_dict=True)
        return {"logits": r.logits.reshape(-1)} if "logits" in r else {"hidden": r.last_hidden_state.reshape(-1)}
    for row, length in zip(ids, LENGTHS):
        row[length - 1] = models.VOCABULARY - 1  # where its text ends
    mask = torch.arange(LENGTH)[None] < torch.tensor(LENGTHS)[:, None]
    r = model(input_ids=ids, attention_mask=mask.long(), pixel_values=pixels, return_dict=True)
    return {"embedding": torch.cat([r.text_embeds.reshape(-1), r.image_embeds.reshape(-1)])}


def run_on_pages(model, ids, mask, valid):
    """Words, where they stand, and an image if the model takes one."""
    config, more = model.config, {}
    if config.visual_embed:
        pixels = models.patches(BATCH, (config.input_size // config.patch_size) ** 2, config.patch_size)
        rest = config.input_size - pixels.shape[-1]  # right of the last patch, and below
        more["pixel_values"] = torch.nn.functional.pad(pixels, (0, rest, 0, rest))
    if config.type_vocab_size == 2:
        more["token_type_ids"] = (torch.arange(LENGTH) >= 6).long()[None].expand(BATCH, -1)
    places = (models.uniform("boxes", BATCH * LENGTH * 4) + 1) / 2 * 30
    r = model(input_ids=ids * mask + 1 * ~mask, attention_mask=mask.long(), return_dict=True,
              bbox=torch.tensor(places).long().reshape(BATCH, LENGTH, 4), **more)
    if "logits" in r:
        return {"logits": valid(r.logits) if r.logits.dim() == 3 else r.logits.reshape(-1)}
    of_image = {"image_hidden": r.last_hidden_state[:, LENGTH:].reshape(-1)} if more.get("pixel_values") is not None else {}
    return {"hidden": valid(r.last_hidden_state)} | of_image


def digest(values):
    """A few values, and the largest."""
    values = values.to(torch.float64)
    if not torch.isfinite(values).all():
        raise Refused("not finite")
    at = [(i * 7919 + 13) % len(values) for i in range(SAMPLES)]
    return {"size": len(values), "largest": rounded(values.abs().max().item()), "sample": [rounded(values[i].item()) for i in at]}


def rounded(value):
    return float(f"{value:.6g}")


def close(a, b):
    """Whether two verdicts are the same but for rounding."""
    if ("refused" in a) or ("refused" in b):
        return ("refused" in a) == ("refused" in b)
    return a.keys() == b.keys() and all(
        a[k]["size"] == b[k]["size"] and
        all(math.isclose(x, y, rel_tol=0, abs_tol=2e-5 * b[k]["largest"]) for x, y in zip(a[k]["sample"], b[k]["sample"]))
        for k in a)


def changed(base, change):
    """A change is {"set": {path: value}, "drop": [path], "tensors": {name: shape, or None to delete it}}; all optional.
    Paths in config.json are keys with "/" between them."""
    config, tensors = copy.deepcopy(base.config), dict(base.tensors)
    for path in change.get("drop", []):
        *outer, last = path.split("/")
        place = config
        for key in outer:
            place = place[key]
        place.pop(last, None)
    for path, value in change.get("set", {}).items():
        *outer, last = path.split("/")
        place = config
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = value
    for name, shape in change.get("tensors", {}).items():
        if shape is None:
            del tensors[name]
        elif name in tensors:
            tensors[name] = [shape] + tensors[name][1:]
        else:
            tensors[name] = models.kind_of(name, shape)
    return config, tensors
