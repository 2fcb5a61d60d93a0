"""Speed and memory of Lamina and llama.cpp with the same GGUF file, on the same machine.

    bench/environment
    python3 bench/llama_cpp.py build/bin/lamina MODEL.gguf cpu=build/bench/bin/python vulkan:0=build/bench/vulkan/bin/python

The PyPI packages cyllama and cyllama-vulkan contain llama.cpp (b9190) for the CPU and for Vulkan. Each argument after the
model is a device, as Lamina names it, and the Python that runs llama.cpp there. Both programs continue the same prompts
greedily, in turns, each time in a new process; the table shows medians. The clock starts when the model has been loaded.
Peak memory includes the pages of the file that a process has mapped. Use an idle machine.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

prompts = {
    "7 tokens": "Once upon a time there was a",
    "about 250 tokens": " ".join(
        ["The quick brown fox jumps over the lazy dog, and the dog sleeps on in the warm afternoon sun."] * 12),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lamina")
    parser.add_argument("model")
    parser.add_argument("devices", nargs="+", metavar="DEVICE=PYTHON")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def finished(command):
    """Runs a process; its output and its peak memory in MiB."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {text}")
    return text, usage.ru_maxrss / 1024


# ---- One run: seconds to the first token, tokens per second after it, peak memory ----


def run_lamina(options, device, python, prompt):
    text, memory = finished([options.lamina, "run", options.model, prompt, "--device", device, "--max-length",
                             str(options.tokens)])
    found = re.search(r"(\d+) tokens in .*, ([\d.]+) a second; the first after ([\d.]+) s", text)
    if not found or int(found[1]) != options.tokens:
        raise SystemExit(f"lamina: expected {options.tokens} tokens: {text}")
    return float(found[3]), float(found[2]), memory


def run_llama(options, device, python, prompt):
    text, memory = finished([python, __file__, "--llama", options.model, device, prompt, str(options.tokens)])
    first, speed = json.loads(text.splitlines()[-1])
    return first, speed, memory


def llama(model, device, prompt, tokens):
    """What runs in a process of its own: the main loop of llama.cpp's example `simple`."""
    if device != "cpu":  # it does not use software drivers unless their number is given
        os.environ["GGML_VK_VISIBLE_DEVICES"] = device.split(":")[1]
    from cyllama.llama import llama_cpp as cy

    cy.disable_logging()
    cy.ggml_backend_load_all()
    if device != "cpu" and all(each["type"] == "CPU" for each in cy.ggml_backend_dev_info()):
        raise SystemExit(f"llama.cpp finds no {device}, and would run on the CPU")
    of_model, of_context = cy.LlamaModelParams(), cy.LlamaContextParams()
    of_model.n_gpu_layers = 0 if device == "cpu" else 999
    of_model.main_gpu = 0
    of_context.n_ctx, of_context.n_batch = 2048, 512
    of_context.n_threads = of_context.n_threads_batch = os.cpu_count()
    loaded = cy.LlamaModel(model, of_model)
    context = cy.LlamaContext(loaded, of_context)
    sampler = cy.LlamaSampler(cy.LlamaSamplerChainParams())
    sampler.add_greedy()

    begin = time.perf_counter()
    ids = loaded.get_vocab().tokenize(prompt, add_special=True, parse_special=True)
    position = len(ids)
    context.decode(cy.llama_batch_get_one(ids))
    token = sampler.sample(context, -1)
    first = time.perf_counter()
    for _ in range(tokens - 1):
        context.decode(cy.llama_batch_get_one([token], position))
        token = sampler.sample(context, -1)
        position += 1
    print(json.dumps([first - begin, (tokens - 1) / (time.perf_counter() - first)]))


def main():
    options = arguments()
    print(f"{pathlib.Path(options.model).name}, {options.tokens} tokens, medians of {options.rounds} rounds, "
          f"{os.cpu_count()} threads\n")
    print("| device | prompt | program | first token, s | tokens per second | peak memory, MiB |\n"
          "| --- | --- | --- | --- | --- | --- |")
    programs = {"Lamina": run_lamina, "llama.cpp": run_llama}
    for device, python in (each.split("=") for each in options.devices):
        for name, prompt in prompts.items():
            runs = {program: [] for program in programs}
            for _ in range(options.rounds):
                for program, run in programs.items():
                    runs[program].append(run(options, device, python, prompt))
            for program, found in runs.items():
                first, speed, memory = (statistics.median(each) for each in zip(*found))
                print(f"| `{device}` | {name} | {program} | {first:.2f} | {speed:.1f} | {memory:.0f} |", flush=True)


if sys.argv[1:2] == ["--llama"]:
    llama(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
else:
    main()
