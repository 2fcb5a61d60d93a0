"""Writes what generate() of the PyPI package transformers makes of generation_config.json, with the tiny models of models/.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors accelerate
    venv/bin/python tests/architectures/generate.py            writes generated.json
    venv/bin/python tests/architectures/generate.py NAME...    writes the cases of these models anew

Every case is a model, changes to its config.json, a generation_config.json (or none), the ids that it is given, and the
ids of the hypotheses that come of it, best first. Models that transcribe are given a sound instead, by the frequencies of
its tones in Hz, and only their best hypothesis counts. A case is only kept if noise in the scores, far above what devices differ
by, does not change it; else other ids are given. "distributions" are the probabilities that samples are drawn with,
"sampled_beams" how often texts come of beams that are sampled, and "keys" all that GenerationConfig has.
"""

import json
import math
import pathlib
import random
import shutil
import sys
import tempfile
import warnings

import numpy
import torch
import transformers
from safetensors import safe_open
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

here = pathlib.Path(__file__).parent
vocabulary = 53
noise = 2e-3  # in scores of several units
decoders = ["gpt2", "opt", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"]
translators = ["t5_gated", "marian"]
transcribers = ["whisper"]
# Of a transcriber: what its own generation_config.json says, and never a timestamp, at which transformers would cut the text.
about_sound = json.loads((here / "models" / "whisper" / "generation_config.json").read_text())
about_sound["suppress_tokens"] += range(about_sound["no_timestamps_token_id"] + 1, vocabulary)
del about_sound["eos_token_id"]  # every case has another

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
words = None  # the tokenizer


class Noise(transformers.LogitsProcessor):
    """In front of all others, which transformers lets only the model itself do: so it wraps the forward pass."""

    def __init__(self, model, seed):
        self.model, self.forward, self.generator = model, model.forward, torch.Generator().manual_seed(seed)

    def __enter__(self):
        def forward(*args, **more):
            out = self.forward(*args, **more)
            out.logits = out.logits + noise * (torch.rand(out.logits.shape, generator=self.generator) - 0.5)
            return out
        forward.__signature__ = __import__("inspect").signature(self.forward)
        self.model.forward = forward

    def __exit__(self, *_):
        self.model.forward = self.forward


def tokenizer():
    global words
    if words:
        return words
    ids = {f"w{i}": i for i in range(vocabulary)} | {"abcdef": vocabulary}  # which stop_strings need to be a word
    inner = Tokenizer(WordLevel(ids, unk_token="w0"))
    inner.pre_tokenizer = WhitespaceSplit()
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    return words


def load(name, settings, config):
    """The model with these settings, read as transformers reads a folder."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / name
        shutil.copytree(here / "models" / name, folder)
        changed = json.loads((folder / "config.json").read_text()) | config
        (folder / "config.json").write_text(json.dumps(changed))
        (folder / "generation_config.json").unlink(missing_ok=True)
        if settings is not None:
            (folder / "generation_config.json").write_text(json.dumps(settings))
        kind = transformers.AutoModelForSpeechSeq2Seq if name in transcribers else \
            transformers.AutoModelForSeq2SeqLM if "encode" in graphs_of(here / "models" / name) else transformers.AutoModelForCausalLM
        eager = dict(attn_implementation="eager", experts_implementation="eager")  # the others do not take odd sizes
        return kind.from_pretrained(folder, dtype=torch.float32, **eager).eval()


plain_models = {}


def with_settings(name, settings):
    """The model as it is, with a generation_config.json."""
    if name not in plain_models:
        plain_models[name] = load(name, {}, {})
    model = plain_models[name]
    model.generation_config = transformers.GenerationConfig.from_dict(settings)
    return model


def features(tones, window=3520):
    """Of a sound of these frequencies, in Hz, as transformers computes them."""
    times = numpy.arange(window) / 16000
    samples = sum(0.3 * numpy.sin(2 * math.pi * hertz * times) for hertz in tones).astype(numpy.float32)
    return torch.tensor(transformers.WhisperFeatureExtractor(feature_size=7)._np_extract_fbank_features(samples[None], "cpu"))


def generated(model, given):
    """The ids of all hypotheses, without what was given and without the end."""
    beams = model.generation_config.num_beams or 1
    more = dict(do_sample=False, tokenizer=tokenizer())
    ends = model.generation_config.eos_token_id
    ends = [ends] if isinstance(ends, int) else ends or []
    if model.config.model_type == "whisper":
        out = model.generate(features(given), language="de", task="transcribe", return_timestamps=False, **more)
        return [until_end(out.tolist()[0], ends)]
    out = model.generate(torch.tensor([given]), num_return_sequences=beams,
                         attention_mask=torch.ones(1, len(given), dtype=torch.int64), **more)
    start = 1 if model.config.is_encoder_decoder else len(given)
    return [until_end(ids[start:], ends) for ids in out.tolist()]


def until_end(ids, ends):
    at = next((i for i, token in enumerate(ids) if token in ends), None)
    return ids if at is None else ids[:at]


def cases_of(name):
    encodes = name not in decoders
    start = about_sound if name in transcribers else {"decoder_start_token_id": 4} if encodes else {}
    new = {"max_new_tokens": 9}
    beams = new | {"num_beams": 3}
    out = [
        new, {"max_length": 14}, {"max_length": 14, "max_new_tokens": 3},
        new | {"min_new_tokens": 7}, new | {"min_length": 9}, new | {"min_length": 12, "min_new_tokens": 2},
        new | {"repetition_penalty": 1.7}, new | {"repetition_penalty": 0.6}, new | {"encoder_repetition_penalty": 1.6},
        new | {"no_repeat_ngram_size": 1}, new | {"no_repeat_ngram_size": 2}, new | {"no_repeat_ngram_size": 3},
        new | {"encoder_no_repeat_ngram_size": 1}, new | {"encoder_no_repeat_ngram_size": 2},
        new | {"forced_eos_token_id": 7}, {"max_length": 12, "forced_eos_token_id": [7, 5]},
        new | {"forced_bos_token_id": 8}, new | {"forced_bos_token_id": 8, "begin_suppress_tokens": "FIRST"},
        new | {"begin_suppress_tokens": "FIRST"}, new | {"suppress_tokens": "MANY"},
        new | {"bad_words_ids": "WORDS"}, new | {"sequence_bias": "BIASES"},
        new | {"bad_words_ids": "WORDS", "forced_bos_token_id": 8, "remove_invalid_values": True},
        new | {"exponential_decay_length_penalty": [2, 1.4]},
        new | {"exponential_decay_length_penalty": [1, 2.5], "min_new_tokens": 5},
        new | {"exponential_decay_length_penalty": [1, 2.5], "min_new_tokens": 8, "remove_invalid_values": True},
        new | {"stop_strings": ["STOP"]}, new | {"temperature": 0.3, "top_k": 3, "top_p": 0.5, "typical_p": 0.5},
        new | {"prompt_lookup_num_tokens": 2, "max_matching_ngram_size": 2} if not encodes else new,
        beams | {"stop_strings": ["STOP"]}, beams | {"repetition_penalty": 1.4}, beams | {"suppress_tokens": "MANY"},
        beams | {"suppress_tokens": "MANY", "renormalize_logits": True},
        beams | {"bad_words_ids": "WORDS"}, beams | {"sequence_bias": "BIASES", "renormalize_logits": True},
        beams | {"no_repeat_ngram_size": 2, "min_length": 9}, beams | {"forced_bos_token_id": 8, "forced_eos_token_id": 7},
        beams | {"eos_token_id": "TWO"}, beams | {"eos_token_id": "TWO", "early_stopping": True, "num_beams": 4},
        beams | {"exponential_decay_length_penalty": [2, 1.3]}, {"num_beams": 2, "max_length": 13},
    ]
    for early_stopping in (False, True, "never"):
        for length_penalty in (1.0, 0.0, 2.5, -1.5):
            out.append({"max_new_tokens": 16, "num_beams": 3, "early_stopping": early_stopping,
                        "length_penalty": length_penalty})
    if name in transcribers:
        out = [case for case in out if not any(key.startswith("encoder_") for key in case)]  # which need ids
    return [start | case for case in out]


def filled(settings, given, name, rng):
    """With tokens that matter for this text in place of names."""
    start = about_sound if name in transcribers else {"decoder_start_token_id": 4}
    first, second = (generated(with_settings(name, start | {"max_new_tokens": 9, "num_beams": 3}), given) * 2)[:2]
    before = 3 if name in transcribers else given[-1]
    never = about_sound["suppress_tokens"] if name in transcribers else [40, 41]
    values = {"FIRST": [first[0]], "MANY": [first[0], second[3], *never], "TWO": [first[4], second[5]],
              "WORDS": [[first[1]], [first[2], first[3]], [before, first[0]], [first[-2], first[-1]]],
              "BIASES": [[[first[1]], -2.5], [[first[2], first[3]], -6.0], [[before, first[0]], -1.5], [[30], 1.5]]}
    stop = f"w{first[4]}"
    out = {}
    for key, value in settings.items():
        out[key] = [stop] if value == ["STOP"] else values[value] if isinstance(value, str) and value in values else value
    end = first[5] if "max_length" in settings or rng.random() < 0.7 else first[3]
    if name in transcribers:  # their texts repeat themselves
        end = max(first, key=first.index)
    out.setdefault("eos_token_id", end)
    return out


def case_of(name, settings, rng, config=None, attempts=40):
    for _ in range(attempts):
        length = 1 if settings and "forced_bos_token_id" in settings else 5
        given = [rng.randrange(3, vocabulary) for _ in range(length)]
        if name in transcribers:
            given = [rng.randrange(50, 4000) for _ in range(3)]
        elif length > 2:
            given[3:5] = given[0:2] # so that something is repeated
        ready = filled(settings, given, name, rng) if config is None else settings
        model = with_settings(name, ready) if config is None else load(name, ready, config)
        try:
            expected = generated(model, given)
        except (ValueError, IndexError, RuntimeError) as error:
            print(name, settings, error)
            continue
        same = len(expected[0]) > 2 or name not in transcribers  # whose texts often end at once
        for seed in range(2):
            with Noise(model, seed):
                same = same and generated(model, given) == expected
        if same:
            return {"model": name, "config": config or {}, "settings": ready, "given": given, "ids": expected}
    print("no stable text:", name, settings)
    return None


def published(name):
    """generation_config.json as popular models of this type have it, with smaller numbers."""
    plain = {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, "transformers_version": "4.34.0.dev0"}
    padded = plain | {"pad_token_id": 0}
    sampled = {"bos_token_id": 1, "do_sample": True, "eos_token_id": [2, 30, 31], "pad_token_id": 0, "temperature": 0.6,
               "top_p": 0.9, "transformers_version": "4.45.0.dev0"}
    gemma = {"bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": [1, 45], "pad_token_id": 0,
             "transformers_version": "4.50.0.dev0"}
    t5 = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "transformers_version": "4.27.1"}
    marian = {"bad_words_ids": [[52]], "bos_token_id": 0, "decoder_start_token_id": 52, "eos_token_id": 0,
              "forced_eos_token_id": 0, "max_length": 20, "num_beams": 4, "pad_token_id": 52, "renormalize_logits": True}
    whisper = about_sound | {
        "alignment_heads": [[0, 1], [1, 2]], "bos_token_id": 2, "eos_token_id": 2, "max_initial_timestamp_index": 50,
        "max_length": 18, "pad_token_id": 2, "prev_sot_token_id": 33, "return_timestamps": False,
        "transformers_version": "4.31.0.dev0"}
    return {
        "gpt2": [plain, padded, plain | {"eos_token_id": 1}], "opt": [plain | {"pad_token_id": 1}, padded, plain],
        "llama": [sampled, padded | {"max_length": 24}, sampled | {"max_length": 24, "eos_token_id": 2}],
        "mistral": [plain, {k: v for k, v in plain.items() if k[0] != "_"}, plain | {"eos_token_id": [2]}],
        "qwen2": [sampled | {"repetition_penalty": 1.1, "top_k": 20}, sampled | {"repetition_penalty": 1.05, "top_k": 20},
                  sampled | {"max_new_tokens": 12}],
        "qwen3": [sampled | {"top_k": 20, "top_p": 0.95}, plain | {"max_new_tokens": 12}, sampled],
        "gemma2": [gemma | {"_from_model_config": True, "eos_token_id": 1}, gemma, {k: v for k, v in gemma.items() if k != "bos_token_id"}],
        "gemma3": [gemma | {"do_sample": True, "top_k": 64, "top_p": 0.95}, gemma,
                   sampled | {"cache_implementation": "hybrid", "top_k": 64, "top_p": 0.95}],
        "t5_gated": [t5, t5 | {"_from_model_config": True}, t5 | {"max_new_tokens": 12}],
        "marian": [marian, marian | {"num_beams": 6}, marian | {"_from_model_config": True, "num_beams": 4, "forced_eos_token_id": 1}],
        "whisper": [whisper, whisper | {"forced_decoder_ids": [[1, None], [2, 31]]},
                    {k: v for k, v in whisper.items() if k not in ("forced_decoder_ids", "alignment_heads")}]}[name]


def config_cases(rng):
    """Where the settings are: config.json counts only in a folder without generation_config.json."""
    of_search = {"num_beams": 3, "length_penalty": 2.0, "max_length": 12, "no_repeat_ngram_size": 2, "eos_token_id": 7}
    yield case_of("marian", None, rng, of_search | {"early_stopping": True, "bad_words_ids": [[9]]})
    yield case_of("llama", None, rng, of_search | {"min_new_tokens": 3, "renormalize_logits": True})
    yield case_of("llama", {"max_new_tokens": 8}, rng, of_search)
    yield case_of("t5_gated", {"max_new_tokens": 8, "bos_token_id": 6}, rng, of_search)


def distributions(rng):
    """What generate() draws from: a row of scores, and the probabilities after its processors."""
    model = load("llama", {"max_new_tokens": 3}, {})
    ways = [{"temperature": 0.6}, {"top_k": 7}, {"top_p": 0.7}, {"min_p": 0.1}, {"typical_p": 0.6}, {"top_h": 0.5},
            {"epsilon_cutoff": 0.03}, {"eta_cutoff": 0.3}, {"eta_cutoff": 0.02}, {"typical_p": 0.2},
            {"temperature": 1.6, "top_h": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.02, "typical_p": 0.8,
             "epsilon_cutoff": 0.01, "eta_cutoff": 0.2},
            {"temperature": 0.8, "top_k": 12, "top_p": 0.8, "eta_cutoff": 0.05}]
    out = []
    for way in ways:
        config = transformers.GenerationConfig(do_sample=True, max_length=20, **({"top_k": 0} | way))
        model._prepare_special_tokens(config)
        processors = model._get_logits_processor(config, input_ids_seq_length=1)
        for scale in (1.0, 3.0):
            scores = [round(rng.gauss(0, scale), 3) for _ in range(vocabulary)]
            processed = processors(torch.tensor([[3]]), torch.tensor([scores]))
            out.append({"settings": way, "scores": scores,
                        "probabilities": [round(p, 6) for p in processed.softmax(-1)[0].tolist()]})
    return out


def sampled_beams():
    """What comes of num_beams with do_sample: how often each text is the best of its beams."""
    rng, rows, runs, least = random.Random(3), 2000, 20, 0.004
    ways = [("llama", {"num_beams": 2, "top_k": 6, "temperature": 4.0}),
            ("mistral", {"num_beams": 3, "top_k": 0, "temperature": 3.0, "min_p": 0.3, "renormalize_logits": True}),
            ("gpt2", {"num_beams": 2, "top_k": 9, "top_p": 0.9, "temperature": 20.0}),
            ("qwen2", {"num_beams": 2, "top_k": 0, "temperature": 2.0, "epsilon_cutoff": 0.03, "length_penalty": 2.0}),
            ("gemma2", {"num_beams": 4, "top_k": 0, "typical_p": 0.3, "repetition_penalty": 1.5}),
            ("t5_gated", {"num_beams": 2, "top_k": 5, "temperature": 9.0, "early_stopping": True}),
            ("marian", {"num_beams": 2, "top_k": 8, "temperature": 4.0, "eta_cutoff": 0.3})]
    for name, way in ways:
        given = [rng.randrange(3, vocabulary) for _ in range(4)]
        start = {"decoder_start_token_id": 4} if name in translators else {}
        likely = generated(with_settings(name, start | {"max_new_tokens": 2, "num_beams": 4}), given)
        settings = start | {"max_new_tokens": 2, "do_sample": True, "eos_token_id": likely[-1][0]} | way
        model = with_settings(name, settings)
        torch.manual_seed(5)
        counts = {}
        for _ in range(runs):
            out = model.generate(torch.tensor([given] * rows), attention_mask=torch.ones(rows, len(given), dtype=torch.int64))
            for ids in out[:, 1 if start else len(given):].tolist():
                text = tuple(until_end(ids, [settings["eos_token_id"]]))
                counts[text] = counts.get(text, 0) + 1
        often = {text: n / (rows * runs) for text, n in counts.items() if n > least * rows * runs}
        yield {"model": name, "settings": settings, "given": given, "of": rows * runs,
               "texts": [[list(text), round(share, 6)] for text, share in sorted(often.items())]}


def keys():
    """All that a generation_config.json may say."""
    about_itself = ["transformers_version"]
    return sorted(k for k in vars(transformers.GenerationConfig()) if not k.startswith("_") and k not in about_itself)


def graphs_of(folder):
    if not (folder / "model.safetensors").exists():
        return []
    with safe_open(folder / "golden.safetensors", "pt") as golden:
        return golden.metadata()["graphs"].split()


def usual_cases(folder, rng):
    """Of a model that generates: greedily and with beams."""
    for settings in ({"max_new_tokens": 12}, {"max_new_tokens": 6, "num_beams": 3}):
        start = {"decoder_start_token_id": 4} if "encode" in graphs_of(folder) else {}
        yield case_of(folder.name, start | settings, rng)


def written(names, cases, drawn, beams):
    rows = lambda items: "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "\n]"
    (here / "generated.json").write_text('{"keys": ' + json.dumps(names) + ',\n"cases": ' + rows(filter(None, cases)) +
                                         ',\n"distributions": ' + rows(drawn) + ',\n"sampled_beams": ' + rows(beams) + "}\n")


def renew(names):
    known = json.loads((here / "generated.json").read_text())
    special = set(names) & {*decoders, *translators, *transcribers}
    if special:
        raise SystemExit(f"{', '.join(sorted(special))}: has cases of its own; without names, all are written")
    cases = [case for case in known["cases"] if case["model"] not in names]
    for name in names:
        cases += usual_cases(here / "models" / name, random.Random(name))
    written(known["keys"], cases, known["distributions"], known["sampled_beams"])


def main():
    if sys.argv[1:]:
        return renew(sys.argv[1:])
    rng = random.Random(11)
    cases = []
    for name in decoders + translators + transcribers:
        for settings in cases_of(name):
            cases.append(case_of(name, settings, rng))
        print(name, len(cases), flush=True)
    cases += config_cases(rng)
    rng = random.Random(4)
    for name in decoders + translators + transcribers:
        for settings in published(name):
            of_length = {} if "max_length" in settings else {"max_new_tokens": 12}  # without any, Lamina's is another
            cases.append(case_of(name, of_length | settings, rng, {}))
    for folder in sorted((here / "models").iterdir()):  # all that generate, at least greedily and with beams
        # Of t5 transformers makes too few caches; the two of Marian have another vocabulary than the tokenizer.
        done = decoders + translators + transcribers + ["whisper_untied", "t5", "marian_two", "marian_untied"] + [
            path.name for path in (here / "models").glob("moonshine*")]  # which make_speech.py asks
        if "decode" in graphs_of(folder) and folder.name not in done:
            cases += usual_cases(folder, rng)
    written(keys(), cases, distributions(rng), sampled_beams())


if __name__ == "__main__":
    main()
