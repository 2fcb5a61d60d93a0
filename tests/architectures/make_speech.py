"""The same as make.py for models that score characters for each frame of audio, and what transformers makes of such scores
and of whole recordings: speech/expected.json.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors
    venv/bin/python tests/architectures/make_speech.py                 writes all
    venv/bin/python tests/architectures/make_speech.py wav2vec2        writes the models whose names begin so
    venv/bin/python tests/architectures/make_speech.py texts           writes speech/expected.json
    venv/bin/python tests/architectures/make_speech.py times           writes speech/times.json

A sequence has the result that it has alone. Lamina takes several as rows of a length that gives a whole number of frames,
and is told how many frames of each count. Rows behind these are zeros in the golden files.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers as T
from safetensors.torch import load_file, save_file

from tiny import here, is_wanted, save

LENGTHS = (211, 120)  # samples; neither is that of a whole number of frames


def frames_of(samples, kernels, strides):
    for kernel, stride in zip(kernels, strides):
        samples = (samples - kernel) // stride + 1
    return samples


def samples_of(frames, kernels, strides):
    for kernel, stride in reversed(list(zip(kernels, strides))):
        frames = (frames - 1) * stride + kernel
    return frames


def speech(name, model_class, config, dtype=torch.float16):
    kernels, strides = config.conv_kernel, config.conv_stride
    longest = samples_of(frames_of(max(LENGTHS), kernels, strides) + 1, kernels, strides)  # which holds all samples
    frames = frames_of(longest, kernels, strides)
    samples = torch.randn(len(LENGTHS), longest, dtype=torch.float32).to(torch.float64)
    inputs = {"samples": samples[..., None].clone(),
              "lengths": torch.tensor([frames_of(length, kernels, strides) for length in LENGTHS])}
    if config.feat_extract_norm == "group":
        inputs["norm_lengths"] = torch.tensor([frames_of(length, kernels[:1], strides[:1]) for length in LENGTHS])
    for row, length in zip(inputs["samples"], LENGTHS):
        row[length:] = 0  # what is there must not count, but for a norm that is told

    def outputs(model):
        alone = [samples[b:b + 1, :length] for b, length in enumerate(LENGTHS)]
        padded = lambda rows: torch.stack([torch.nn.functional.pad(r[0], (0, 0, 0, frames - r.shape[1])) for r in rows])
        out = {"hidden": padded([model.base_model(each).last_hidden_state for each in alone])}
        if hasattr(model, "lm_head"):
            out["logits"] = padded([model(each).logits for each in alone])
        return out

    return save(name, model_class(config), {"encode": (inputs, outputs)}, dtype)


def with_older_names(name):
    """As releases of transformers before 5 wrote them."""
    file = here / name / "model.safetensors"
    new = "conv.parametrizations.weight.original"
    tensors = {key.replace(new + "0", "conv.weight_g").replace(new + "1", "conv.weight_v"): value
               for key, value in load_file(file).items()}
    save_file(tensors, file, metadata={"format": "pt"})


def sizes(**more):
    return dict(vocab_size=29, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
                conv_dim=[20, 24, 28], conv_kernel=[5, 3, 2], conv_stride=[3, 2, 2], num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=4) | more


def of_layers(**more):
    return sizes(feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True, num_conv_pos_embeddings=7,
                 num_conv_pos_embedding_groups=3, feat_extract_activation="gelu_new", hidden_act="relu",
                 layer_norm_eps=1e-3) | more


def all_of_them():
    speech("wav2vec2", T.Wav2Vec2ForCTC, T.Wav2Vec2Config(**sizes()))
    speech("wav2vec2_stable", T.Wav2Vec2ForCTC, T.Wav2Vec2Config(**of_layers()))
    if speech("wav2vec2_older", T.Wav2Vec2Model, T.Wav2Vec2Config(**sizes(
            do_stable_layer_norm=True, conv_bias=True, mask_time_prob=0.0)), torch.bfloat16):
        with_older_names("wav2vec2_older")
    speech("hubert", T.HubertForCTC, T.HubertConfig(**sizes(feat_extract_activation="relu")))
    speech("hubert_bare", T.HubertForCTC, T.HubertConfig(**of_layers(feat_proj_layer_norm=False,
                                                                     do_stable_layer_norm=False)))
    speech("wavlm", T.WavLMForCTC, T.WavLMConfig(**sizes(num_buckets=12, max_bucket_distance=9)))
    speech("wavlm_stable", T.WavLMModel, T.WavLMConfig(**of_layers()))


# ---- Texts ----

CHARACTERS = ["<pad>", "<s>", "</s>", "<unk>", "|", "E", "T", "A", "O", "N", "I", "H", "S", "R", "D", "L", "U", "M", "W", "C",
              "F", "G", "Y", "P", "B", "V", "'", "\u00c4", "."]
EXTRACTOR = {"do_normalize": True, "feature_extractor_type": "Wav2Vec2FeatureExtractor", "feature_size": 1,
             "padding_side": "right", "padding_value": 0.0, "return_attention_mask": False, "sampling_rate": 16000}


def ids_of(characters):
    return {character: i for i, character in enumerate(characters)}


def token(text):
    return {"content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}


def tokenizers():
    """Files of tokenizers: {name: {file: contents}}."""
    usual = {"vocab.json": ids_of(CHARACTERS)}
    short = {"vocab.json": ids_of(["A", "B", "C", "|"])}
    return {
        "plain": usual,
        "named": usual | {"tokenizer_config.json": {"tokenizer_class": "Wav2Vec2CTCTokenizer", "do_lower_case": True,
                                                    "clean_up_tokenization_spaces": True}},
        "other_marks": {"vocab.json": ids_of(["[PAD]", "[UNK]", "_", " ", "a", "b", "\u4e2d", "ch"]),
                        "tokenizer_config.json": {"pad_token": {"__type": "AddedToken"} | token("[PAD]"), "unk_token": "[UNK]",
                                                  "word_delimiter_token": "_", "replace_word_delimiter_char": "-",
                                                  "bos_token": None, "eos_token": None}},
        "added": short,  # those that the vocabulary lacks are behind it
        "added_elsewhere": short | {"added_tokens.json": {"<s>": 6, "</s>": 4},
                                    "special_tokens_map.json": {"pad_token": "[P]", "unk_token": token("?")},
                                    "tokenizer_config.json": {"pad_token": "<pad>"}},
        "listed": short | {"tokenizer_config.json": {"added_tokens_decoder": {"4": token("<pad>"), "6": token("<s>")}},
                           "special_tokens_map.json": {"pad_token": "A"}},
    }


def write_files(folder, files):
    for name, contents in files.items():
        (folder / name).write_text(json.dumps(contents))


def decoded():
    """Ids at random, with repetitions, and the texts of each."""
    out = []
    for name, files in tokenizers().items():
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            write_files(folder, files)
            tokenizer = T.Wav2Vec2CTCTokenizer.from_pretrained(folder)
        # Release 5.24 takes no other word_delimiter_token than "|" from a file; releases before 5 do.
        if delimiter := files.get("tokenizer_config.json", {}).get("word_delimiter_token"):
            tokenizer._word_delimiter_token = delimiter
        count = len(files["vocab.json"]) + (5 if len(files["vocab.json"]) < 6 else 0)
        rows = [[]] + [torch.randint(0, count, (n,)).repeat_interleave(torch.randint(1, 4, (n,))).tolist()
                       for n in (1, 2, 8, 30, 60)]
        if name == "named":  # spaces before marks and in contractions
            rows.append([CHARACTERS.index(c) for c in "TO||.|I|'M|'|N'T|I|'S.||"])
        out.append({"name": name, "files": files, "labels": count,
                    "rows": [{"ids": row, "text": tokenizer.decode(row)} for row in rows]})
    return out


def signal(count):
    """Numbers that are the same everywhere, louder and quieter."""
    i = torch.arange(count, dtype=torch.int64)
    noise = ((i * i * 31 + i * 7919) % 65536 - 32768).to(torch.float64) / 32768
    return (noise * (0.05 + ((i // 400) % 5).to(torch.float64) * 0.1) + 0.02).to(torch.float32)


def centred(folder, samples):
    """Biases of the scores, so that over these samples the mean of each is 0: else most frames have the same character."""
    model = T.AutoModelForCTC.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        model.lm_head.bias -= model(samples[None]).logits.mean((0, 1))
    model.to(torch.float16).save_pretrained(folder)


def heard(to):
    """Models in folders of their own, with the files that say how audio and texts are made, and what they hear."""
    out = []
    for model, count, extractor in (("wav2vec2", 1001, {}), ("wav2vec2_stable", 640, {"do_normalize": False}),
                                    ("hubert", 333, {}), ("hubert_bare", 2000, {"return_attention_mask": True})):
        folder = to / model
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(here / model, folder, ignore=shutil.ignore_patterns("golden*"))
        write_files(folder, tokenizers()["plain"] | {"preprocessor_config.json": EXTRACTOR | extractor})
        samples = signal(count)
        normal = (samples - samples.mean()) / (samples.var(correction=0) + 1e-7).sqrt()
        centred(folder, normal if (EXTRACTOR | extractor)["do_normalize"] else samples)
        pipeline = T.pipeline("automatic-speech-recognition", model=str(folder), dtype=torch.float32)
        text = pipeline({"raw": samples.numpy(), "sampling_rate": 16000})["text"]
        out.append({"model": model, "samples": count, "text": text})
    return out


def texts():
    folder = here.parent / "speech"
    folder.mkdir(exist_ok=True)
    contents = {"made_by": "transformers " + T.__version__, "decoded": decoded(), "heard": heard(folder)}
    (folder / "expected.json").write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")


def times():
    """When the words and characters of recordings are said."""
    out = []
    for model, count in (("wav2vec2", 1001), ("wav2vec2_stable", 640), ("hubert", 333), ("hubert_bare", 2000)):
        pipeline = T.pipeline("automatic-speech-recognition", model=str(here.parent / "speech" / model), dtype=torch.float32)
        found = {"model": model, "samples": count}
        for name, kind in (("words", "word"), ("characters", "char")):
            chunks = pipeline({"raw": signal(count).numpy(), "sampling_rate": 16000}, return_timestamps=kind)["chunks"]
            found[name] = [[each["text"], *(round(float(second), 6) for second in each["timestamp"])] for each in chunks]
        out.append(found)
    (here.parent / "speech" / "times.json").write_text(json.dumps(out, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    torch.manual_seed(11)
    all_of_them()
    if is_wanted("texts"):
        texts()
    if is_wanted("times"):
        times()
