"""Compares the tokens and logits of a real Whisper model on a device with those of the PyPI package transformers.

    espeak-ng -w fox.wav "The quick brown fox jumps over the lazy dog."
    python tests/architectures/whisper_against_transformers.py build/bin/lamina whisper-tiny.en fox.wav cpu vulkan:0

transformers chooses the tokens one by one. Lamina's decoder gets all of them at once. It would have chosen the same ones
if each is the likeliest after those before it. Needs the PyPI packages numpy, torch, transformers and tokenizers.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import wave

import numpy
import tokenizers
import torch
import transformers

rate, length = 16000, 480000


def samples_of(file):
    with wave.open(str(file)) as sound:
        if sound.getsampwidth() != 2 or sound.getnchannels() != 1:
            raise SystemExit(f"{file}: expected one channel of 16 bits")
        values = numpy.frombuffer(sound.readframes(sound.getnframes()), numpy.int16) / 32768
        times = numpy.arange(0, len(values), sound.getframerate() / rate)
    values = numpy.interp(times, numpy.arange(len(values)), values)[:length]
    return numpy.pad(values, (0, length - len(values))).astype(numpy.float32)[None]


def allowed(logits, tokens, first):
    """The logits of a step, without the tokens that must not be chosen there."""
    out = logits.copy()
    out[tokens["suppress_tokens"] + (tokens["begin_suppress_tokens"] if first else [])] = -numpy.inf
    return out


def expected(folder, samples, tokens):
    """The prefix with the tokens that follow it, and the logits after each of them."""
    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    features = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)(
        samples[0], sampling_rate=rate, return_tensors="pt").input_features
    prefix = [tokens["decoder_start_token_id"], tokens["no_timestamps_token_id"]]
    ids = list(prefix)
    with torch.no_grad():
        memory = model.model.encoder(features)
        while ids[-1] != tokens["eos_token_id"] and len(ids) < 100:
            logits = model(encoder_outputs=memory, decoder_input_ids=torch.tensor([ids])).logits[0].numpy()
            ids.append(int(allowed(logits[-1], tokens, len(ids) == len(prefix)).argmax()))
    return prefix, ids, logits


def lamina(command, folder, device, graph, inputs, work):
    given = []
    for name, values in inputs.items():
        numpy.save(work / f"{name}.npy", values)
        given += ["-i", f"{name}={work / name}.npy"]
    subprocess.run([command, "run", folder, "-d", device, "--graph", graph, *given, "--output-dir", work, "-q"], check=True,
                   stdout=subprocess.DEVNULL)


def main(command, folder, sound, *devices):
    tokens = json.loads((pathlib.Path(folder) / "generation_config.json").read_text())
    samples = samples_of(sound)
    prefix, ids, logits = expected(folder, samples, tokens)
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    print(f"transformers: {len(ids) - len(prefix)} tokens:{tokenizer.decode(ids)}")
    for device in devices:
        with tempfile.TemporaryDirectory() as made:
            work = pathlib.Path(made)
            lamina(command, folder, device, "encode", {"samples": samples}, work)
            source = {file.stem: numpy.load(file) for file in work.glob("*encoder_attn*.npy")}
            target = {"ids": numpy.array([ids[:-1]], numpy.int32), "position": numpy.zeros(1, numpy.int32)}
            lamina(command, folder, device, "decode", source | target, work)
            found = numpy.load(work / "logits.npy")[0]
        worst = abs(found - logits).max() / abs(logits).max()
        chosen = [int(allowed(found[t], tokens, t == len(prefix) - 1).argmax()) for t in range(len(prefix) - 1, len(ids) - 1)]
        same = sum(a == b for a, b in zip(chosen, ids[len(prefix):]))
        print(f"{device}: {same} of {len(chosen)} tokens are the same; logits differ by {worst:.1e} of the largest")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
