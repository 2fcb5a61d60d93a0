#!/usr/bin/env python3
"""Compares models with trained weights with what Hugging Face's libraries compute.

MODELS is what unpack.py wrote. What is expected is in expected/, which expected.py writes. Prints a table in Markdown.
The exit status is 1 if a result is wrong, and 77 if there are no models, unless $LAMINA_REQUIRE_MODELS is set.
"""

import argparse
import array
import ast
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("lamina", help="the command")
parser.add_argument("models", type=pathlib.Path, metavar="MODELS")
parser.add_argument("devices", nargs="+", metavar="DEVICE")
parser.add_argument("--compare", default="minilm", metavar="MODEL,...",
                    help="models that `lamina compare` runs: minilm, smollm2.gguf, whisper (minutes on some devices)")
parser.add_argument("--quick", default="", metavar="DEVICE,...",
                    help="devices that take minutes for some of it: SmolLM2's perplexity and its second continuation, and "
                         "Whisper's words; they skip these")
arguments = parser.parse_args()
quick = arguments.quick.split(",")
models, expected = arguments.models, pathlib.Path(__file__).parent / "expected"
names = {"minilm": "MiniLM-L6-v2, f32", "smollm2.gguf": "SmolLM2-135M, Q4_1", "whisper": "Whisper tiny.en, f16"}
failed = False


class Wrong(Exception):
    pass


def lamina(command, *options):
    done = subprocess.run([arguments.lamina, command, *map(str, options)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"lamina {command} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


# Each of these returns what to say of a device, or throws Wrong.


def vectors(device, wanted):
    wanted_values = f32_of(expected / "vectors.npy")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "vectors.npy"
        lamina("run", models / "minilm", *wanted["sentences"], "--device", device, "-o", f"embedding={file}")
        found = f32_of(file)
    worst = max(abs(a - b) for a, b in zip(found, wanted_values, strict=True))
    if not worst < 1e-5:
        raise Wrong(f"differ by up to {worst:.0e}")
    return f"differ by at most {worst:.0e}"


def f32_of(npy):
    """The values of an array of 32-bit floats, row by row."""
    with npy.open("rb") as file:
        version, length = struct.unpack("<6xBxH", file.read(10))
        header = ast.literal_eval(file.read(length).decode())
        if version != 1 or header["descr"] != "<f4" or header["fortran_order"]:
            raise Wrong(f"{npy}: expected an array of f32, found {header}")
        return array.array("f", file.read())


def continuations(device, wanted):
    counts = []
    for prompt, ids in list(wanted["continuations"].items())[: 1 if device in quick else None]:
        options = "--max-length", len(ids), "--device", device, "--json"
        at_once = json.loads(lamina("run", models / "smollm2.gguf", prompt, *options))[0]["hypotheses"][0]["tokens"]
        same_ids(at_once, ids)
        counts.append(len(ids))
    return f"all {' and '.join(map(str, counts))} token ids are the same"


def perplexity(device, wanted):
    text = wanted["perplexity"]
    options = "--perplexity", pathlib.Path(__file__).parents[2] / text["file"], "--window", text["window"]
    out = json.loads(lamina("bench", models / "smollm2.gguf", *options, "--device", device, "--json"))
    found = {each["figure"]: each["median"] for each in out["results"]}
    if found["tokens that count"] != text["tokens"]:
        raise Wrong(f"{found['tokens that count']} tokens, not {text['tokens']}")
    apart = abs(found["perplexity"] / text["value"] - 1)
    if not apart < 3e-5:
        raise Wrong(f"{found['perplexity']}, not {text['value']}")
    return f"{found['perplexity']:.4f}; they differ by {apart:.0e} of that"


def transcript(device, wanted):
    out = json.loads(lamina("run", models / "whisper", expected / "speech.wav", "--device", device, "--json"))[0]
    same_ids(out["parts"][0]["tokens"], wanted["transcript"])
    timed = json.loads(lamina("run", models / "whisper", expected / "speech.wav", "--device", device, "--json", "--timestamps",
                              "segments"))[0]
    same_ids(timed["parts"][0]["tokens"], wanted["timed"])
    wrong, words = word_errors(wanted["spoken"], out["output"])
    heard = f"all {len(wanted['transcript'])} token ids are the same; {wrong} of {words} words are not those spoken"
    if device in quick:
        return heard
    told = json.loads(lamina("run", models / "whisper", expected / "speech.wav", "--device", device, "--json", "--timestamps",
                             "words"))[0]["segments"]
    for found, (word, *times) in zip(told, wanted["words"]):
        if found["output"] != word or max(abs(found[key] - time) for key, time in zip(("begin", "end"), times)) > 1e-6:
            raise Wrong(f"{found['output']} from {found['begin']} to {found['end']} s, not {word} from {times[0]} to {times[1]}")
    return f"{heard}; the times of {len(wanted['words'])} words are the same"


def same_ids(found, wanted):
    if found != wanted:
        first = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
        raise Wrong(f"token {first} differs: {found}, not {wanted}")


def word_errors(spoken, heard):
    """The fewest words to insert, delete or replace, and the number of words spoken."""
    a, b = (re.findall(r"\w+", text.lower()) for text in (spoken, heard))
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1], len(a)


def layers(device, model):
    out = json.loads(lamina("compare", models / model, "--device", device, "--json"))
    return f"all {len(out['layers'])} layers agree with the references"


def recorded(device):
    found = json.loads(lamina("compare", models / "minilm", "--with", expected / "minilm.safetensors", "--device", device, "--json"))
    worst = max(layer["error"] for layer in found["layers"])
    return f"all {len(found['layers'])} results agree; they differ by at most {worst:.0e} of the largest value"


def row(device, model, what, check, *more):
    global failed
    try:
        result = check(device, *more)
    except Wrong as e:
        failed, result = True, f"**wrong**: {e}"
    print(f"| {names[model]} | {what} | `{device}` | {result} |", flush=True)


def main():
    wanted = json.loads((expected / "expected.json").read_text())
    known = {each["id"]: each for each in json.loads(lamina("devices", "--json"))["devices"]}
    print(f"{lamina('--version').strip()}; expected: {wanted['made by']}\n")
    for device in arguments.devices:
        if device not in known:
            raise SystemExit(f"check.py: no device '{device}'; there are {', '.join(known)}")
        print(f"`{device}`: {known[device]['name']} {known[device].get('driver') or ''}\n")
    print("| model | what is compared | device | result |\n| --- | --- | --- | --- |")
    for device in arguments.devices:
        row(device, "minilm", f"vectors of {len(wanted['sentences'])} sentences", vectors, wanted)
        row(device, "minilm", "`lamina compare --with` a record of transformers", recorded)
        row(device, "smollm2.gguf", "greedy continuations", continuations, wanted)
        if device not in quick:
            row(device, "smollm2.gguf", f"perplexity of {wanted['perplexity']['tokens']} tokens", perplexity, wanted)
        row(device, "whisper", "transcript", transcript, wanted)
        for model in arguments.compare.split(","):
            row(device, model, "`lamina compare`", layers, model)
    sys.exit(failed)


if not (models / "done").exists():
    print(f"SKIPPED: models with trained weights: none in {models}; scripts/fetch-real-models downloads them")
    sys.exit(1 if os.environ.get("LAMINA_REQUIRE_MODELS") else 77)
main()
