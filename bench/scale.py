"""How time and memory grow with sequence, batch, layers and vocabulary.

    python3 bench/scale.py build/bin/lamina
    python3 bench/scale.py build/bin/lamina --device vulkan:0 --most 2048 --svg scale.svg

Makes transformers with untrained weights (256 channels, 4 heads, 1024 hidden, f32), changes one size at a time, and
prints a table in Markdown. OPERATIONS are the multiplications and additions of the products: what the maths asks for.
While GFLOP/S does not fall from one row to the next, time grows no faster than that. --svg draws time over operations.
Needs only Python. Use an idle machine.
"""

import argparse
import json
import math
import pathlib
import struct
import subprocess
import tempfile

channels, heads, hidden = 256, 4, 1024

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("lamina", help="the command")
parser.add_argument("--device", default="cpu")
parser.add_argument("--most", type=int, default=32768, help="tokens of the longest sequence")
parser.add_argument("--svg", type=pathlib.Path, metavar="FILE")
arguments = parser.parse_args()


class Size:
    """One measurement. A model with a vocabulary gives scores for every token, one without gives vectors."""

    def __init__(self, value, sequence=128, batch=1, layers=2, scores=None):
        self.value, self.sequence, self.batch, self.layers, self.scores = value, sequence, batch, layers, scores

    @property
    def operations(self):
        tokens = self.sequence * self.batch
        layer = tokens * (8 * channels**2 + 4 * channels * hidden)
        seen = 0.5 if self.scores else 1  # a decoder's tokens attend to those before them
        attention = seen * 4 * self.batch * self.sequence**2 * channels
        return self.layers * (layer + attention) + tokens * 2 * channels * (self.scores or 0)


series = {
    "sequence": [Size(n, sequence=n) for n in (128, 512, 2048, 8192, 32768) if n <= arguments.most],
    "batch": [Size(n, batch=n) for n in (1, 4, 16, 64) if n * 128 <= arguments.most],
    "layers": [Size(n, layers=n) for n in (1, 4, 16, 64)],
    "vocabulary": [Size(n, sequence=16, scores=n) for n in (2048, 8192, 32768, 131072)],
}


def lamina(*options):
    done = subprocess.run([arguments.lamina, *map(str, options)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"scale.py: lamina {options[0]} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def write_ids(file, shape, below):
    """A .npy file of token ids."""
    count = math.prod(shape)
    header = str({"descr": "<i4", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    ids = (i * 7919 % below for i in range(count))
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{count}i", *ids))


def measure(size, folder):
    """Seconds of a run, and MiB of the process at its peak."""
    model, ids, position = folder / "model", folder / "ids.npy", folder / "position.npy"
    vocabulary = size.scores or 2048
    lamina("init", model, "--force", "--quiet", "--arch", "decoder" if size.scores else "encoder", "--d-model", channels,
           "--heads", heads, "--ffn", hidden, "--layers", size.layers, "--vocab", vocabulary, "--mask", "none",
           "--max-len", size.sequence, *(["--generator", "logits"] if size.scores else []))
    write_ids(ids, (size.batch, size.sequence), vocabulary)
    write_ids(position, (size.batch,), 1)
    inputs = ["--input", f"target={ids}", "--input", f"position={position}"] if size.scores else ["--input", f"source={ids}"]
    rounds = 1 if size.operations > 1e12 else 5
    results = json.loads(lamina("bench", model, *inputs, "--device", arguments.device, "--rounds", rounds, "--json"))
    figures = {each["figure"]: each["median"] for each in results["results"]}
    return figures["time of a run"], figures["peak memory of the process"]


def line_chart(points):
    """Time over operations, both logarithmic: a line for each series, and one that time in proportion would follow."""
    everything = [point for line in points.values() for point in line]
    left, right = (f(math.log10(x) for x, _ in everything) for f in (min, max))
    bottom, top = (f(math.log10(y) for _, y in everything) for f in (min, max))
    width, height, margin = 640, 420, 60

    def at(x, y):
        return (margin + (math.log10(x) - left) / (right - left) * (width - 2 * margin),
                height - margin - (math.log10(y) - bottom) / (top - bottom) * (height - 2 * margin))

    colors = dict(zip(points, ("#0072b2", "#d55e00", "#009e73", "#cc79a7")))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>']
    for power in range(math.ceil(left), math.floor(right) + 1):
        x = at(10.0**power, 1)[0]
        out.append(f'<line x1="{x:.1f}" y1="{margin}" x2="{x:.1f}" y2="{height - margin}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{height - margin + 18}" text-anchor="middle">10^{power}</text>')
    for power in range(math.ceil(bottom), math.floor(top) + 1):
        y = at(1, 10.0**power)[1]
        out.append(f'<line x1="{margin}" y1="{y:.1f}" x2="{width - margin}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{margin - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    rate = sorted(x / y for x, y in everything)[len(everything) // 2]
    (x1, y1), (x2, y2) = (at(10.0**e, 10.0**e / rate) for e in (max(left, bottom + math.log10(rate)),
                                                               min(right, top + math.log10(rate))))
    out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#888" stroke-dasharray="4 4"/>')
    for row, (name, line) in enumerate(points.items()):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colors[name]}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colors[name]}"/>' for x, y in (at(*p) for p in line)]
        out.append(f'<text x="{margin + 10}" y="{margin + 16 + 16 * row}" fill="{colors[name]}">{name}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 18}" text-anchor="middle">operations; dashed: time in proportion '
               f"to them, at {rate / 1e9:.0f} GFLOP/s</text></svg>")
    return "\n".join(out) + "\n"


def main():
    device = next(each for each in json.loads(lamina("devices", "--json"))["devices"] if each["id"] == arguments.device)
    print(f"{lamina('--version').strip()}, `{arguments.device}`: {device['name']} {device.get('driver') or ''}\n")
    print("| what grows | to | time | operations | GFLOP/s | peak memory |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    points = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in series.items():
            for size in sizes:
                seconds, peak = measure(size, pathlib.Path(folder))
                points.setdefault(name, []).append((size.operations, seconds))
                print(f"| {name} | {size.value:,} | {seconds * 1e3:,.1f} ms | {size.operations / 1e9:,.2f} G | "
                      f"{size.operations / seconds / 1e9:.0f} | {peak:,.0f} MiB |", flush=True)
    if arguments.svg:
        arguments.svg.write_text(line_chart(points))


main()
