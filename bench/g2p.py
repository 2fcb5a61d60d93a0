"""The model g2p on Lamina and on PyTorch, on the CPU: the same weights, the same words, greedy search.

    bench/environment
    build/bench/bin/python bench/g2p.py build/bin/lamina

Both turn words into phones, one at a time and 64 at a time, in turns; then Lamina searches with four beams. Lamina's
time is that of the whole process, from start to end; PyTorch's begins when it is imported and the model is loaded. It
runs the modules that the model was trained with (models/g2p/train.py), which have no caches: each step computes the
whole answer again. PyTorch's threads sleep while they wait (OMP_WAIT_POLICY=passive): on few cores it is slower without.
Use an idle machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

model_folder = pathlib.Path(__file__).resolve().parent.parent / "models" / "g2p"


def words(count):
    return (model_folder / "validation_words.txt").read_text().split()[:count]


# ---- PyTorch, in a process of its own ----


def read_safetensors(file):
    """Tensors of f16, by name."""
    import torch

    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    body = bytearray(data[8 + length :])

    def tensor(entry):
        begin, end = entry["data_offsets"]
        return torch.frombuffer(body[begin:end], dtype=torch.float16).reshape(entry["shape"])

    return {name: tensor(entry) for name, entry in header.items() if name != "__metadata__"}


def run_torch(count, batch):
    """Prints the seconds that it takes, then the answers."""
    import torch

    sys.path.insert(0, str(model_folder))
    import train

    phones = (model_folder / "phones.txt").read_text().split()
    model = train.G2P(len(train.LETTERS), len(phones), d_model=160, heads=5, layers=4, hidden=640, dropout=0).eval()
    weights = read_safetensors(model_folder / "model.safetensors")
    for name, tensor in train.named_weights(model, 4).items(): # they share the memory of the model's own
        tensor.copy_(weights[name])

    def answer(some):
        letters, _ = train.tensors([(word, []) for word in some], {}, "cpu")
        return [ids[: ids.index(train.END)] if train.END in ids else ids for ids in train.greedy(model, letters)]

    asked = words(count)
    with torch.inference_mode():
        answer(asked[:batch])
        begin = time.perf_counter()
        answers = [ids for i in range(0, count, batch) for ids in answer(asked[i : i + batch])]
        print(time.perf_counter() - begin)
    for ids in answers:
        print(" ".join(phones[i] for i in ids))


# ---- Both, in turns ----


def torch_run(count, batch):
    command = [sys.executable, __file__, "--torch", str(count), str(batch)]
    out = subprocess.run(command, env={**os.environ, "OMP_WAIT_POLICY": "passive"}, check=True, capture_output=True,
                         text=True).stdout.splitlines()
    return float(out[0]), out[1:]


def lamina_run(lamina, count, batch, *options):
    command = [lamina, "run", model_folder, "--device", "cpu", "--batch", str(batch), *options]
    begin = time.perf_counter()
    out = subprocess.run(command, input="\n".join(words(count)) + "\n", check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - begin, [line.split("\t")[1] for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lamina")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| words | at once | search | Lamina | PyTorch | PyTorch / Lamina | same answers |\n"
          "| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for count, batch in (200, 1), (2000, 64):
        times = {"Lamina": [], "PyTorch": []}
        for _ in range(options.rounds):
            seconds, own = lamina_run(options.lamina, count, batch)
            times["Lamina"].append(seconds)
            seconds, theirs = torch_run(count, batch)
            times["PyTorch"].append(seconds)
        own_time, their_time = (statistics.median(each) for each in times.values())
        same = sum(a == b for a, b in zip(own, theirs, strict=True))
        print(f"| {count:,} | {batch} | greedy | {own_time:.2f} s | {their_time:.2f} s | {their_time / own_time:.1f} "
              f"| {same:,} |", flush=True)
    pairs = [(lamina_run(options.lamina, 2000, 64)[0], lamina_run(options.lamina, 2000, 64, "--beams", "4")[0])
             for _ in range(options.rounds)]
    greedy, beams = (statistics.median(each) for each in zip(*pairs))
    print(f"| 2,000 | 64 | 4 beams | {beams:.2f} s ({beams / greedy:.1f} x greedy) | | | |")


if sys.argv[1:2] == ["--torch"]:
    run_torch(int(sys.argv[2]), int(sys.argv[3]))
else:
    main()
