#!/usr/bin/env python3
"""How much of the innermost loops of kernels is multiply-adds, as NVK compiles them for an NVIDIA GPU that is not there.

    bench/hot_loops.py --lamina build/bin/lamina [--chip ampere] linear attention      every pipeline of these layers' cases
    NAK_DEBUG=print PROGRAM 2>listing; bench/hot_loops.py --listing listing            those of any program, one per shader

Of each kernel (multiply-adds of two halves count once) the block of instructions that multiplies most is shown: its multiply-adds, all of its instructions, and
multiply-adds in a cycle of issue. The compiler writes how many cycles the hardware waits before it issues the next
instruction of a subgroup; 1 multiply-add in a cycle is the most. Waiting for memory is not in it, and other subgroups
fill gaps. Needs Debian 13 as scripts/gpus-offline does.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "portability"))
import chips  # noqa: E402

FINAL = "NAK IR after calc_instr_deps"  # what the hardware gets


def shaders(listing):
    """The final instructions of each shader."""
    parts = re.split(r"(?m)^(?=NAK IR|Structured NIR|NIR for )", listing)
    return [part for part in parts if part.startswith(FINAL)]


def hottest(shader):
    """Multiply-adds, instructions and cycles of issue of the block that multiplies most, matrix instructions first."""
    best = (0, 0, 0, 0)
    for block in re.split(r"(?m)^block", shader)[1:]:
        lines = [line for line in block.splitlines() if "delay=" in line]
        adds = sum(" ffma" in line or " hfma2" in line for line in lines)
        matrices = sum(" hmma" in line for line in lines)
        cycles = sum(int(delay) for delay in re.findall(r"delay=(\d+)", block))
        best = max(best, (matrices, adds, len(lines), cycles))
    return best


def line_of(name, shader):
    matrices, adds, instructions, cycles = hottest(shader)
    multiply = matrices or adds
    if not multiply:
        return f"{name}: no multiply-adds"
    what = "matrix multiply-adds" if matrices else "multiply-adds"
    return (f"{name}: {multiply} {what} of {instructions} instructions, {100 * multiply / instructions:.0f} %, "
            f"{multiply / cycles:.2f} a cycle")


def of_lamina(lamina, chip, layers):
    """Pairs of a pipeline's name and its shader. One thread compiles, so both are in the same order."""
    manifest, shim = chip.driver.paths()
    environment = dict(os.environ, VK_DRIVER_FILES=manifest, LD_PRELOAD=shim, MESA_SHADER_CACHE_DISABLE="true",
                       NAK_DEBUG="print", **{chip.driver.variable: chip.value})
    one = {min(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", errors="replace") as listing:
        environment["XDG_RUNTIME_DIR"] = folder
        command = [lamina, *chips.CHECK, *layers, "--own-cases", "--json", "--no-cache"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=listing, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, one))
        if not done.stdout:
            sys.exit(f"hot_loops: {' '.join(command)}: status {done.returncode}")
        listing.seek(0)
        found = shaders(listing.read())
    kernels = [kernel for kernel in json.loads(done.stdout)["kernels"] if "error" not in kernel]
    if len(kernels) != len(found):
        sys.exit(f"hot_loops: {len(kernels)} pipelines, but {len(found)} shaders in the listing")
    for kernel, shader in zip(kernels, found):
        constants = " ".join(f"{number}={bits}" for number, bits in kernel["constants"].items())
        yield f"{kernel['layer']}/{kernel['kernel']} {constants}", shader


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lamina", help="the command")
    parser.add_argument("--chip", default="ampere", choices=[c.name for c in chips.CHIPS if c.driver is chips.NVIDIA])
    parser.add_argument("--listing", help="what a program wrote with NAK_DEBUG=print")
    parser.add_argument("layers", nargs="*", metavar="LAYER")
    arguments = parser.parse_args()
    if bool(arguments.lamina) == bool(arguments.listing):
        parser.error("either --lamina or --listing is needed")
    if arguments.listing:
        with open(arguments.listing, encoding="utf-8", errors="replace") as file:
            for number, shader in enumerate(shaders(file.read())):
                print(line_of(f"shader {number}", shader))
        return
    chip = next(chip for chip in chips.CHIPS if chip.name == arguments.chip)
    if why := chip.driver.why_not():
        sys.exit(f"hot_loops: {why}")
    for name, shader in of_lamina(arguments.lamina, chip, arguments.layers):
        print(line_of(name, shader))


if __name__ == "__main__":
    main()
