"""The same as make.py for models that take audio of any length: those that score characters for each frame, and Moonshine,
which writes texts. And what transformers makes of such scores and of whole recordings: speech/expected.json.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors
    venv/bin/python tests/architectures/make_speech.py                 writes all
    venv/bin/python tests/architectures/make_speech.py wav2vec2        writes the models whose names begin so
    venv/bin/python tests/architectures/make_speech.py texts           writes speech/expected.json
    venv/bin/python tests/architectures/make_speech.py times           writes speech/times.json
    venv/bin/python tests/architectures/make_speech.py written         writes speech/written.json

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
from tokenizers import Tokenizer, decoders, models, normalizers

from tiny import here, is_wanted, save, vocabulary

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


def moonshine(name, dtype=torch.float16, **more):
    """What it hears of LENGTHS times 13 samples; its convolutions are always the same."""
    config = T.MoonshineConfig(**dict(
        vocab_size=vocabulary, hidden_size=36, intermediate_size=44, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=3, decoder_num_attention_heads=3, max_position_embeddings=40) | more)
    kernels, strides = (127, 7, 3), (64, 3, 2)
    lengths = [13 * length for length in LENGTHS]
    longest = samples_of(frames_of(max(lengths), kernels, strides) + 1, kernels, strides)
    frames = frames_of(longest, kernels, strides)
    samples, target = (torch.randn(len(lengths), longest) * 0.1).to(torch.float64), torch.randint(3, vocabulary, (2, 9))
    of = lambda n: torch.tensor([frames_of(length, kernels[:n], strides[:n]) for length in lengths])
    inputs = {"samples": samples[..., None].clone(), "lengths": of(3), "norm_lengths": of(1)}
    for row, length in zip(inputs["samples"], lengths):
        row[length:] = 0

    def run(model, b):
        return model(input_values=samples[b:b + 1, :lengths[b]], decoder_input_ids=target[b:b + 1])

    padded = lambda row: torch.nn.functional.pad(row, (0, 0, 0, frames - row.shape[0]))
    heard = lambda model: {"hidden": torch.stack([padded(run(model, b).encoder_last_hidden_state[0]) for b in (0, 1)])}
    written = lambda model: {"logits": torch.cat([run(model, b).logits for b in (0, 1)])}
    decode = {"ids": target, "position": torch.zeros(2, dtype=torch.int32), "lengths": inputs["lengths"]}
    return save(name, T.MoonshineForConditionalGeneration(config), {"encode": (inputs, heard), "decode": (decode, written)},
                dtype)


def moonshines():
    moonshine("moonshine")
    moonshine("moonshine_biased", torch.bfloat16, hidden_size=40, attention_bias=True, tie_word_embeddings=False,
              encoder_num_attention_heads=2, decoder_num_attention_heads=2, encoder_hidden_act="relu",
              decoder_hidden_act="gelu", encoder_num_hidden_layers=1, pad_head_dim_to_multiple_of=8,
              rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0, "partial_rotary_factor": 0.62})
    moonshine("moonshine_heads", head_dim=14, decoder_num_attention_heads=6, decoder_num_hidden_layers=1,
              rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 1.0})


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


def byte_fallback():
    """A tokenizer like Moonshine's: pieces, and bytes where there is none."""
    pieces = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "c", "\u2581a", "\u2581b", "bc", "\u2581abc"]
    pieces += [f"<0x{byte:02X}>" for byte in (0x41, 0x42, 0x0A, 0x21, 0xC3, 0xA4)]
    pieces += [f"p{i}" for i in range(vocabulary - len(pieces))]
    merges = [("\u2581", "a"), ("\u2581", "b"), ("b", "c"), ("\u2581a", "bc")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(pieces[:3])
    return tokenizer


def written():
    """What Moonshine writes of recordings, by generate()."""
    out = []
    for model, settings, counts in (("moonshine", {"max_length": 14}, (4000, 895, 2100)),
                                    ("moonshine_biased", {"max_new_tokens": 9, "num_beams": 3}, (1500, 3333)),
                                    ("moonshine_heads", {"max_length": 12, "forced_bos_token_id": 7,
                                                         "begin_suppress_tokens": [5, 20]}, (6000, 1279))):
        folder = here.parent / "speech" / model
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(here / model, folder, ignore=shutil.ignore_patterns("golden*"))
        byte_fallback().save(str(folder / "tokenizer.json"))
        ends = {"bos_token_id": 1, "decoder_start_token_id": 1, "eos_token_id": 2}
        write_files(folder, {"preprocessor_config.json": EXTRACTOR | {"do_normalize": model == "moonshine_biased"},
                             "generation_config.json": ends | settings,
                             "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",
                                                       "eos_token": "</s>", "unk_token": "<unk>"}})
        loaded = T.AutoModelForSpeechSeq2Seq.from_pretrained(folder, dtype=torch.float32).eval()
        extractor, tokenizer = T.AutoFeatureExtractor.from_pretrained(folder), T.AutoTokenizer.from_pretrained(folder)
        for count in counts:
            features = extractor(signal(count).numpy(), sampling_rate=16000, return_tensors="pt", return_attention_mask=True)
            ids = loaded.generate(features["input_values"], attention_mask=features["attention_mask"])[0].tolist()[1:]
            ids = ids[:ids.index(2)] if 2 in ids else ids
            text = tokenizer.decode(ids, skip_special_tokens=True)
            out.append({"model": model, "samples": count, "ids": ids, "text": text})
    (here.parent / "speech" / "written.json").write_text(json.dumps(out, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    torch.manual_seed(11)
    all_of_them()
    moonshines()
    if is_wanted("written"):
        written()
    if is_wanted("texts"):
        texts()
    if is_wanted("times"):
        times()
