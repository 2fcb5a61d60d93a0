"""Writes words.json: when words of recordings are spoken, by the tiny Whisper of models/ and the PyPI package transformers.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors accelerate
    venv/bin/python tests/architectures/make_words.py

"recordings" are those of timestamps.json, with the seconds at which each token of each window ends. "paths" and "medians"
are of random numbers, and "words" of random tokens of a byte-level tokenizer, "tokenizer".
"""

import json
import pathlib
import random

import make_timestamps
import numpy
import torch
import transformers
from generate import with_settings
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers.models.whisper import generation_whisper, tokenization_whisper

here = pathlib.Path(__file__).parent
Model = transformers.WhisperForConditionalGeneration
rng = random.Random(8)
heads = [[[0, 1], [0, 4]], [[0, 0]], [[0, i] for i in range(6)]]  # the last are those of a model that lists none


def heard_in(model, samples):
    """The tokens of a window, the seconds at which each ends, and how many frames the window takes."""
    frames = -(-len(samples) // make_timestamps.frame)
    padded = numpy.zeros(make_timestamps.window * make_timestamps.frame, numpy.float32)
    padded[:len(samples)] = samples
    extractor = transformers.WhisperFeatureExtractor(feature_size=7)
    spectrum = torch.tensor(extractor._np_extract_fbank_features(padded[None], "cpu"))
    mask = torch.zeros((1, spectrum.shape[-1]), dtype=torch.long)
    mask[:, :frames] = 1
    found = []
    retrieve, frames_of, cut = Model._retrieve_segment, Model._retrieve_max_frames_and_seek, Model._get_input_segment

    def recorded(*args, **more):
        result = retrieve(*args, **more)
        first, tokens = more["decoder_input_ids"].shape[-1], more["seek_sequence"].tolist()
        times = more["seek_outputs"][more["idx"]]["token_timestamps"][first:first + len(tokens)]
        found.append((tokens, [round(float(t), 6) for t in times], result[1]))
        return result
    whole = len(samples) // make_timestamps.frame
    Model._retrieve_segment = staticmethod(recorded)
    Model._retrieve_max_frames_and_seek = staticmethod(lambda **_: (torch.tensor([whole]), torch.tensor([0])))
    Model._get_input_segment = staticmethod(lambda input_features, **_: input_features)
    try:
        model.generate(spectrum, attention_mask=mask, language="de", task="transcribe", return_timestamps=True,
                       return_token_timestamps=True, force_unique_generate_call=True)
    finally:
        Model._retrieve_segment, Model._retrieve_max_frames_and_seek = staticmethod(retrieve), staticmethod(frames_of)
        Model._get_input_segment = staticmethod(cut)
    tokens, times, offset = found[0]
    return tokens, times, int(offset)


def is_settled(model, samples, tokens, times):
    """Whether samples that differ by less than others compute them give the same: a path may be one of two as good."""
    for seed in range(6):
        noise = numpy.random.default_rng(seed).standard_normal(len(samples))
        if heard_in(model, (samples * (1 + 1e-4 * noise)).astype(numpy.float32))[:2] != (tokens, times):
            return False
    return True


def recording(case, number):
    """None: it has a window of which nothing is certain."""
    settings = case["settings"] | {"alignment_heads": heads[number % len(heads)]}
    model = with_settings("whisper", settings)
    model.set_attn_implementation("eager")  # which returns what heads attend to
    if number % len(heads) == len(heads) - 1:
        del settings["alignment_heads"]
    samples, windows, at = make_timestamps.sound(case["tones"], case["samples"]), [], 0
    while len(samples) - at >= make_timestamps.frame:
        window = make_timestamps.window * make_timestamps.frame
        tokens, times, offset = heard_in(model, samples[at:at + window])
        if not is_settled(model, samples[at:at + window], tokens, times):
            return None
        windows.append([tokens, times])
        at += min(offset, make_timestamps.window) * make_timestamps.frame
    assert [tokens for tokens, _ in windows] == case["windows"]
    return {"settings": settings, "tones": case["tones"], "samples": case["samples"], "windows": windows}


def path():
    rows, columns = rng.randrange(1, 7), rng.randrange(1, 12)
    values = [[round(rng.uniform(-1, 1), 3) for _ in range(columns)] for _ in range(rows)]
    texts, times = generation_whisper._dynamic_time_warping(-numpy.array(values))
    jumps = numpy.pad(numpy.diff(texts), (1, 0), constant_values=1).astype(bool)
    return {"values": values, "begins": times[jumps].tolist()}


def median():
    width, values = rng.choice([1, 3, 7, 9]), [round(rng.uniform(-1, 1), 3) for _ in range(rng.randrange(1, 12))]
    found = generation_whisper._median_filter(torch.tensor(values, dtype=torch.float64)[None, None], width)
    return {"width": width, "values": values, "medians": found[0, 0].tolist()}


pieces = [" hel", "lo", " w", "orld", ".", ",", "?!", " (", "(", ")", " ", " \"", "\"", "-", " -", " a", "'s", "\n", "。",
          "世", "界", " \u00a1", "\u201d", "ein", "\u4f60", " \U0001f600"]


def tokenizer():
    """Some characters are in two tokens."""
    symbols = {piece: ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(piece)[0][0] for piece in pieces}
    names = []
    for piece, name in symbols.items():
        cut = 1 if ord(piece[-1]) > 0x3000 and piece not in "。世" else 0
        names += [name[:-cut], name[-cut:]] if cut else [name]
    out = Tokenizer(BPE({name: i for i, name in enumerate(dict.fromkeys(names))}, []))
    out.decoder = decoders.ByteLevel()
    return out


class Decoder:
    """As much of a Whisper tokenizer as makes words."""
    eos_token_id, language = 1 << 20, None

    def __init__(self, inner):
        self.inner = inner

    def decode(self, tokens, decode_with_timestamps=False):
        return self.inner.decode(tokens)


def words(inner):
    tokens = [rng.randrange(inner.get_vocab_size()) for _ in range(rng.randrange(1, 14))]
    if rng.random() < 0.5:  # mostly whole characters
        whole = rng.choices(pieces, k=rng.randrange(1, 12))
        ids, tokens = inner.get_vocab(), []
        for piece in whole:
            name = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(piece)[0][0]
            tokens += [ids[name]] if name in ids else [ids[name[:-1]], ids[name[-1:]]]
    blanks = rng.random() < 0.7
    found, _, indices = tokenization_whisper._combine_tokens_into_words(
        Decoder(inner), tokens, "english" if blanks else "chinese")
    return {"tokens": tokens, "blanks": blanks, "words": [[w, [i[0], i[-1] + 1]] for w, i in zip(found, indices, strict=True)]}


def main():
    cases = json.loads((here / "timestamps.json").read_text())
    inner = tokenizer()
    recordings = [recording(case, number) for number, case in enumerate(cases)]
    out = {"recordings": [each for each in recordings if each is not None],
           "paths": [path() for _ in range(60)], "medians": [median() for _ in range(40)],
           "tokenizer": json.loads(inner.to_str()), "words": [words(inner) for _ in range(300)]}
    parts = []
    for key, value in out.items():
        rows = value if isinstance(value, list) else [value]
        text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        parts.append(json.dumps(key) + ": " + (f"[\n{text}\n]" if isinstance(value, list) else text))
    (here / "words.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
