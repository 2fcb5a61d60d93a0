#!/usr/bin/env python3
"""Gives every line of a file to a model, on many replicas, with Ray Data.

    examples/ray/map_lines.py words.txt phones --model models/g2p --replicas 2 --devices cpu

Writes a folder of Parquet files with the columns line (its number, from 1), text, result and error. Read in the order
of their names, they have the lines in the order of the input. A line that the model refuses has no result but an error.

The input is cut into parts of --rows lines, and each part becomes one file. It is written under a temporary name and
renamed when it is complete. So a part that was begun by a replica that died is simply done again, by another; and if
all of the job dies, the same command goes on with the parts that are missing. On a cluster, the input, the model and
the output must be on storage that all machines see.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import pyarrow
import pyarrow.compute
import pyarrow.parquet
import ray

from replica import Replica


def parts_of(path, rows):
    """Where each part of a file is: its number, its first line, and its bytes."""
    with open(path, "rb") as file:
        number = line = offset = 0
        while True:
            size = lines = 0
            for lines, text in enumerate(file, 1):
                size += len(text)
                if lines == rows:
                    break
            if not lines:
                return
            yield {"part": number, "first": line + 1, "offset": offset, "size": size}
            number, line, offset = number + 1, line + lines, offset + size


def name_of(part):
    return f"part-{part:06}.parquet"


class Mapper:
    """Computes parts and writes them. Ray makes one for each replica."""

    def __init__(self, source, target, **replica):
        self.source, self.target = source, pathlib.Path(target)
        self.replica = Replica(**replica)

    def __call__(self, part):
        began = time.perf_counter()
        with open(self.source, "rb") as file:
            file.seek(part["offset"])
            lines = file.read(part["size"]).removesuffix(b"\n").split(b"\n")
        texts, undecodable = [], {}
        for i, line in enumerate(lines):
            try:
                texts.append(line.removesuffix(b"\r").decode())
            except UnicodeDecodeError as error:
                undecodable[i] = f"not UTF-8: {error.reason} at byte {error.start + 1}"
                texts.append("")
        found = [(None, undecodable[i]) if i in undecodable else each
                 for i, each in enumerate(self.replica.answers(texts))]

        numbers = range(part["first"], part["first"] + len(texts))
        results, errors = zip(*found)
        table = pyarrow.table({"line": pyarrow.array(numbers, pyarrow.int64()), "text": texts, "result": results,
                               "error": pyarrow.array(errors, pyarrow.string())})
        temporary = self.target / f".{name_of(part['part'])}.{os.uname().nodename}.{os.getpid()}"
        pyarrow.parquet.write_table(table, temporary)
        temporary.rename(self.target / name_of(part["part"]))
        return {"part": part["part"], "lines": len(texts), "replica": self.replica.name,
                "seconds": time.perf_counter() - began}


def expect_same_job(target, job):
    """An output folder is of one job: parts of another must not be mixed with it."""
    file = target / "_job.json" # what reads Parquet folders passes over names with _
    if file.exists():
        other = json.loads(file.read_text())
        changed = [f"{key}: {other.get(key)!r}, now {value!r}" for key, value in job.items() if other.get(key) != value]
        if changed:
            sys.exit(f"map_lines: {target} holds the results of another job ({'; '.join(changed)}); "
                     "name another folder, or remove this one")
    else:
        temporary = target / "._job.json"
        temporary.write_text(json.dumps(job))
        temporary.rename(file)


def report_errors(target, parts):
    """Prints the lines without a result, and returns how many there are."""
    bad = 0
    for part in parts:
        table = pyarrow.parquet.read_table(target / name_of(part["part"]), columns=["line", "error"])
        for row in table.filter(pyarrow.compute.field("error").is_valid()).to_pylist():
            print(f"line {row['line']}: {row['error']}", file=sys.stderr)
            bad += 1
    if bad:
        print(f"map_lines: {bad} lines have no result", file=sys.stderr)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", help="a text file")
    parser.add_argument("output", help="a folder; with parts of this job, those are kept")
    parser.add_argument("--model", required=True)
    parser.add_argument("--task", choices=["generate", "embed"], default="generate")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--devices", default="auto", help="of a machine, one for each replica: vulkan:0,vulkan:1")
    parser.add_argument("--cores", type=int, default=1, help="of a replica")
    parser.add_argument("--gpus", type=float, default=0, help="of a replica, as Ray counts them")
    parser.add_argument("--rows", type=int, default=10_000, help="of a part")
    parser.add_argument("--cache", default="~/.cache/lamina-replicas")
    arguments = parser.parse_args()

    source, target = os.path.abspath(arguments.input), pathlib.Path(arguments.output).absolute()
    parts = list(parts_of(source, arguments.rows))
    target.mkdir(parents=True, exist_ok=True)
    expect_same_job(target, {"input": source, "bytes": os.path.getsize(source), "rows": arguments.rows,
                             "model": os.path.abspath(arguments.model), "task": arguments.task})
    missing = [part for part in parts if not (target / name_of(part["part"])).exists()]
    print(f"{len(parts)} parts, {len(parts) - len(missing)} of them done", flush=True)

    lines, began = 0, time.perf_counter()
    if missing:
        ray.data.DataContext.get_current().enable_progress_bars = False
        done = ray.data.from_items(missing, override_num_blocks=len(missing)).map(
            Mapper, fn_constructor_args=[source, str(target)],
            fn_constructor_kwargs={"model": os.path.abspath(arguments.model), "task": arguments.task,
                                   "devices": arguments.devices.split(","), "cores": arguments.cores,
                                   "cache": arguments.cache},
            compute=ray.data.ActorPoolStrategy(size=arguments.replicas), num_cpus=arguments.cores,
            num_gpus=arguments.gpus or None)
        for part in done.iter_rows():
            lines += part["lines"]
            print(f"{name_of(part['part'])}: {part['lines']} lines in {part['seconds']:.1f} s by {part['replica']}; "
                  f"{lines / (time.perf_counter() - began):.0f} a second in all", flush=True)
    for rest in target.glob(".part-*"): # of replicas that died
        rest.unlink()
    print(f"{lines} lines in {time.perf_counter() - began:.1f} s")
    return 3 if report_errors(target, parts) else 0


if __name__ == "__main__":
    sys.exit(main())
