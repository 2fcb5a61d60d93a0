"""Compares models with trained weights with Hugging Face's libraries: python check.py LAMINA WORK DEVICE...

scripts/check-real-models calls this. It prints a table in Markdown; the exit status is 1 if a result is wrong.
"""

import json
import pathlib
import platform
import subprocess
import sys
import wave

import numpy
import torch
import transformers

lamina_command, work, *devices = sys.argv[1:]
models = pathlib.Path(work) / "models"
failed = False

sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "It rains in Paris.",
             "The quick brown fox jumps over the lazy dog.", "Vulkan runs on many GPUs.", "¿Dónde está la biblioteca?",
             "The committee postponed its decision until the report, which nobody had read, was finished.", "Yes."]
prompt, new_tokens = "The capital of France is", 29


def lamina(*arguments):
    done = subprocess.run([lamina_command, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"lamina {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


# ---- What the libraries give ----


def expected_vectors():
    tokenizer = transformers.AutoTokenizer.from_pretrained(models / "minilm")
    model = transformers.AutoModel.from_pretrained(models / "minilm", dtype=torch.float32).eval()
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy()


def expected_continuation():
    """Token ids, greedily, from the weights that the GGUF file's blocks stand for."""
    options = dict(gguf_file="smollm2.gguf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(models, **options)
    model = transformers.AutoModelForCausalLM.from_pretrained(models, dtype=torch.float32, **options).eval()
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    with torch.no_grad():
        out = model.generate(ids, do_sample=False, max_new_tokens=new_tokens, attention_mask=torch.ones_like(ids))
    return without_end(out[0, ids.shape[1]:].tolist(), model.generation_config.eos_token_id)


def without_end(ids, end):
    return ids[:-1] if ids and ids[-1] == end else ids


def speech_of_16_khz():
    """The samples, and a file of them, so that both programs are given the same."""
    with wave.open(str(pathlib.Path(work) / "speech.wav")) as file:
        samples, rate = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16), file.getframerate()
    length = len(samples) * 16000 // rate
    spectrum = numpy.fft.rfft(samples)[:length // 2 + 1]  # espeak-ng's 22,050 samples per second, without what is too high
    samples = (numpy.fft.irfft(spectrum, length) * 16000 / rate).round().clip(-32768, 32767).astype(numpy.int16)
    path = pathlib.Path(work) / "speech-16000.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return samples.astype(numpy.float32) / 32768, path


def expected_transcript(samples):
    model = transformers.WhisperForConditionalGeneration.from_pretrained(models / "whisper", dtype=torch.float32).eval()
    features = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)(
        samples, sampling_rate=16000, return_tensors="pt").input_features
    with torch.no_grad():
        out = model.generate(features, do_sample=False, num_beams=1, return_timestamps=False,
                             max_new_tokens=400)[0].tolist()
    start = {model.generation_config.decoder_start_token_id, model.generation_config.no_timestamps_token_id}
    return without_end([id for id in out if id not in start], model.generation_config.eos_token_id)


# ---- What Lamina gives ----


def vectors(device, expected):
    file = pathlib.Path(work) / "vectors.npy"
    lamina("run", models / "minilm", *sentences, "--device", device, "-o", f"embedding={file}")
    found = numpy.load(file)
    cosines = (found.astype(numpy.float64) * expected).sum(1) / numpy.linalg.norm(found, axis=1) / numpy.linalg.norm(
        expected, axis=1)
    worst = 1 - cosines.min()
    return worst < 1e-6, f"1 - cosine at most {worst:.0e}"


def continuation(device, expected):
    out = json.loads(lamina("run", models / "smollm2.gguf", prompt, "--max-length", new_tokens, "--device", device,
                            "--json"))
    return same_ids(out[0]["hypotheses"][0]["tokens"], expected)


def transcript(device, expected, file):
    out = json.loads(lamina("run", models / "whisper", file, "--device", device, "--json"))
    right, text = same_ids(out[0]["parts"][0]["tokens"], expected)
    other_rate = json.loads(lamina("run", models / "whisper", pathlib.Path(work) / "speech.wav", "--device", device,
                                   "--json"))
    return right and out[0]["output"] == other_rate[0]["output"], text


def same_ids(found, expected):
    if found == expected:
        return True, f"all {len(expected)} token ids are the same"
    differ = [i for i, (a, b) in enumerate(zip(found, expected)) if a != b]
    return False, f"token {differ[0] if differ else min(len(found), len(expected))} differs: {found}, not {expected}"


def layers(device, model):
    out = json.loads(lamina("compare", model, "--device", device, "--json"))
    return True, f"all {len(out['layers'])} layers agree with the references"


# ---- The table ----


def row(device, model, what, check):
    global failed
    right, result = check()
    failed |= not right
    print(f"| {model} | {what} | `{device}` | {'' if right else '**wrong**: '}{result} |", flush=True)


def main():
    samples, speech = speech_of_16_khz()
    wanted_vectors, wanted_ids, wanted_words = expected_vectors(), expected_continuation(), expected_transcript(samples)
    known = {each["id"]: each for each in json.loads(lamina("devices", "--json"))["devices"]}
    print(f"{lamina('--version').strip()}, {platform.platform()}, Python {platform.python_version()}, "
          f"transformers {transformers.__version__}, torch {torch.__version__}\n")
    for device in devices:
        print(f"`{device}`: {known[device]['name']} {known[device].get('driver') or ''}\n")
    print("| model | what is compared | device | result |\n| --- | --- | --- | --- |")
    for device in devices:
        row(device, "MiniLM-L6-v2, f32", f"vectors of {len(sentences)} sentences",
            lambda: vectors(device, wanted_vectors))
        row(device, "SmolLM2-135M, Q4_1", "greedy continuation", lambda: continuation(device, wanted_ids))
        row(device, "Whisper tiny.en, f16", f"transcript of {len(samples) / 16000:.1f} s",
            lambda: transcript(device, wanted_words, speech))
        for name, path in [("MiniLM-L6-v2", "minilm"), ("SmolLM2-135M", "smollm2.gguf")]:  # Whisper takes minutes
            row(device, name, "`lamina compare`", lambda: layers(device, models / path))
    sys.exit(failed)


main()
