"""Writes expected/, what Hugging Face's libraries compute with the models: python expected.py MODELS

MODELS is what unpack.py wrote. Needs espeak-ng, which makes the speech, and the packages of packages.txt.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import wave

import numpy
import torch
import transformers

models = pathlib.Path(sys.argv[1])
expected = pathlib.Path(__file__).parent / "expected"

sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "It rains in Paris.",
             "The quick brown fox jumps over the lazy dog.", "Vulkan runs on many GPUs.", "¿Dónde está la biblioteca?",
             "The committee postponed its decision until the report, which nobody had read, was finished.", "Yes."]
foreseen, window = "LICENSE", 100  # a file of the source tree, and how many of its tokens are read at a time
prompts = {"The capital of France is": 29, "Once upon a time there was a": 64}  # and how many tokens follow
spoken = "The quick brown fox jumps over the lazy dog. Ask not what your country can do for you."


def vectors():
    tokenizer = transformers.AutoTokenizer.from_pretrained(models / "minilm")
    model = transformers.AutoModel.from_pretrained(models / "minilm", dtype=torch.float32).eval()
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy()


def language_model():
    """Tokenizer and model, with the weights that the GGUF file's blocks stand for."""
    options = dict(gguf_file="smollm2.gguf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(models, **options)
    return tokenizer, transformers.AutoModelForCausalLM.from_pretrained(models, dtype=torch.float32, **options).eval()


def perplexity():
    """exp of the mean loss of all tokens but the first of each window."""
    tokenizer, model = language_model()
    ids = tokenizer((pathlib.Path(__file__).parents[2] / foreseen).read_text(), return_tensors="pt").input_ids
    loss = tokens = 0
    for part in ids.split(window, dim=1):
        if part.shape[1] > 1:
            with torch.no_grad():
                loss += model(part, labels=part).loss.item() * (part.shape[1] - 1)
            tokens += part.shape[1] - 1
    return {"file": foreseen, "window": window, "tokens": tokens, "value": math.exp(loss / tokens)}


def continuations():
    """Token ids, greedily."""
    tokenizer, model = language_model()
    for prompt, tokens in prompts.items():
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.no_grad():
            out = model.generate(ids, do_sample=False, max_new_tokens=tokens, attention_mask=torch.ones_like(ids))
        yield prompt, without_end(out[0, ids.shape[1]:].tolist(), model.generation_config.eos_token_id)


def without_end(ids, end):
    return ids[:-1] if ids and ids[-1] == end else ids


def speech(path):
    """Writes a file with 16,000 samples a second, which is what the model takes, and returns the samples."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["espeak-ng", "-v", "en-us", "-w", file.name, spoken], check=True)
        with wave.open(file.name) as source:
            samples, rate = numpy.frombuffer(source.readframes(source.getnframes()), numpy.int16), source.getframerate()
    length = len(samples) * 16000 // rate
    spectrum = numpy.fft.rfft(samples)[:length // 2 + 1]  # espeak-ng's 22,050 samples a second, less what is too high
    samples = (numpy.fft.irfft(spectrum, length) * 16000 / rate).round().clip(-32768, 32767).astype(numpy.int16)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return samples.astype(numpy.float32) / 32768


def transcript(samples, timestamps):
    model = transformers.WhisperForConditionalGeneration.from_pretrained(models / "whisper", dtype=torch.float32).eval()
    features = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)(
        samples, sampling_rate=16000, return_tensors="pt").input_features
    with torch.no_grad():
        out = model.generate(features, do_sample=False, num_beams=1, return_timestamps=timestamps,
                             force_unique_generate_call=True, max_new_tokens=400)[0].tolist()
    start = {model.generation_config.decoder_start_token_id, model.generation_config.no_timestamps_token_id}
    return without_end([id for id in out if id not in start], model.generation_config.eos_token_id)


def words(samples):
    """Those of the first window, with the seconds at which they begin and end."""
    model = transformers.WhisperForConditionalGeneration.from_pretrained(models / "whisper", attn_implementation="eager",
                                                                         dtype=torch.float32).eval()
    inner = transformers.PreTrainedTokenizerFast(tokenizer_file=str(models / "whisper" / "tokenizer.json"))
    features = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)(
        samples, sampling_rate=16000, return_tensors="pt", return_attention_mask=True)
    with torch.no_grad():
        out = model.generate(features.input_features, attention_mask=features.attention_mask, do_sample=False, num_beams=1,
                             return_timestamps=True, return_token_timestamps=True, force_unique_generate_call=True)
    ids, times = out["sequences"][0].tolist(), out["token_timestamps"][0].tolist()
    first = model.generation_config.no_timestamps_token_id + 1
    places = [i for i, id in enumerate(ids) if id < model.generation_config.eos_token_id]
    places = [i for i in places if not any(id >= first for id in ids[places[0]:i])]  # of the first segment

    class Decoder:
        eos_token_id, language = model.generation_config.eos_token_id, None

        def decode(self, tokens, decode_with_timestamps=False):
            return inner.decode(tokens)
    found, _, indices = transformers.models.whisper.tokenization_whisper._combine_tokens_into_words(
        Decoder(), [ids[i] for i in places], "english")
    return [[word, round(times[places[i[0]] - 1], 2), round(times[places[i[-1]]], 2)]
            for word, i in zip(found, indices, strict=True)]


def main():
    expected.mkdir(exist_ok=True)
    numpy.save(expected / "vectors.npy", vectors())
    samples = speech(expected / "speech.wav")
    found = {"made by": f"transformers {transformers.__version__}, torch {torch.__version__}", "sentences": sentences,
             "continuations": dict(continuations()), "perplexity": perplexity(), "spoken": spoken,
             "transcript": transcript(samples, False), "timed": transcript(samples, True),
             "words": words(samples)}
    text = re.sub(r"([0-9],|\[)\s+(?=[0-9])", r"\1 ", json.dumps(found, indent=1, ensure_ascii=False))  # ids side by side
    (expected / "expected.json").write_text(text + "\n")


main()
