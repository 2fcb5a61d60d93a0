"""Writes timestamps.json: segments of recordings, by the tiny Whisper of models/ and the PyPI package transformers.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors accelerate
    venv/bin/python tests/architectures/make_timestamps.py

Lamina's graphs hear windows of samples, while transformers computes one spectrogram of a recording and cuts that. So here
each window is given to generate() by itself, and begins where transformers says that the one before it ends. As in
generate.py, a case is only kept if noise in the scores does not change it.
"""

import json
import math
import pathlib
import random

import numpy
import torch
import transformers
from generate import Noise, with_settings

here = pathlib.Path(__file__).parent
frame, window, longest = 160, 22, 13  # samples; frames; tokens
own = json.loads((here / "models" / "whisper" / "generation_config.json").read_text())
first = own["no_timestamps_token_id"] + 1
Model = transformers.WhisperForConditionalGeneration


def sound(tones, count):
    """A tone after the other, 1000 samples of each."""
    i = numpy.arange(count)
    hertz = numpy.array(tones)[(i // 1000) % len(tones)]
    return (0.5 * numpy.sin(2 * math.pi * hertz * i / 16000)).astype(numpy.float32)


def heard_in(model, samples):
    """The segments of a window, as transformers has them, and how many frames they take."""
    frames = len(samples) // frame
    padded = numpy.zeros(window * frame, numpy.float32)
    padded[:len(samples)] = samples
    extractor = transformers.WhisperFeatureExtractor(feature_size=7)
    spectrum = torch.tensor(extractor._np_extract_fbank_features(padded[None], "cpu"))
    found = []
    retrieve, frames_of, cut = Model._retrieve_segment, Model._retrieve_max_frames_and_seek, Model._get_input_segment

    def recorded(*args, **more):
        found.append((retrieve(*args, **more), more["seek_sequence"].tolist()))
        return found[-1][0]
    Model._retrieve_segment = staticmethod(recorded)
    Model._retrieve_max_frames_and_seek = staticmethod(lambda **_: (torch.tensor([frames]), torch.tensor([0])))
    Model._get_input_segment = staticmethod(lambda input_features, **_: input_features)
    try:
        model.generate(spectrum, language="de", task="transcribe", return_timestamps=True, force_unique_generate_call=True)
    finally:
        Model._retrieve_segment, Model._retrieve_max_frames_and_seek = staticmethod(retrieve), staticmethod(frames_of)
        Model._get_input_segment = staticmethod(cut)
    (segments, offset), tokens = found[0]
    return segments, int(offset), tokens


def transcript(model, samples):
    segments, windows, ends, at = [], [], [], 0
    while len(samples) - at >= frame:
        found, offset, tokens = heard_in(model, samples[at:at + window * frame])
        windows.append(tokens)
        for each in found:
            text = [token for token in each["tokens"].tolist() if token < first]
            if text:
                segments.append([*(round(at / 16000 + float(each[key]), 6) for key in ("start", "end")), text])
        ends.append(min(offset, window))  # here there are timestamps that are longer than a window
        at += ends[-1] * frame
    return segments, windows, ends


def kind_of(tokens):
    """Which of the rules for the end of a window applies."""
    times = [token >= first for token in tokens]
    pairs = any(a and b for a, b in zip(times, times[1:]))
    alone = times[-2:] == [False, True]
    return ("pairs" if pairs else "none") + (" alone" if alone else " cut") + (" early" if len(tokens) < longest else "")


def main():
    rng = random.Random(6)
    cases, kinds = [], {}
    for number in range(200):
        times = rng.sample(range(first + 1, first + 10), rng.choice([0, 4]))  # which end within a window
        words = rng.sample([i for i in range(3, 20) if i not in (7, 9, 11)], 4)
        settings = own | {"max_new_tokens": longest, "num_beams": rng.choice([1, 1, 3])}
        biases = [[[word], rng.choice([0.5, 2.0, 3.0])] for word in words] + [[[2], rng.choice([0.0, 2.5])]]
        settings["sequence_bias"] = biases + [[[time], 2.0] for time in times]
        if (latest := rng.choice([None, 0, 3, 50])) is not None:
            settings["max_initial_timestamp_index"] = latest
        tones, count = [rng.randrange(80, 5000) for _ in range(5)], rng.choice([3520, 1700, 5000, 8013, 12345])
        samples = sound(tones, count)
        model = with_settings("whisper", settings)
        expected = transcript(model, samples)
        same = len(expected[1]) < 40
        for seed in range(2):
            with Noise(model, seed):
                same = same and transcript(model, samples) == expected
        new = {kind_of(tokens) for tokens in expected[1]} | {f"{latest} {settings['num_beams']}"}
        new |= {"sought" for end in expected[2] if end < window and len(expected[2]) > 2}
        if not same or all(kinds.get(kind, 0) >= 6 for kind in new):
            continue
        for kind in new:
            kinds[kind] = kinds.get(kind, 0) + 1
        cases.append({"settings": settings, "tones": tones, "samples": count, "segments": expected[0],
                      "windows": expected[1]})
    print(kinds, len(cases))
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (here / "timestamps.json").write_text("[\n" + rows + "\n]\n")


if __name__ == "__main__":
    main()
