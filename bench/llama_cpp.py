"""Speed and memory of Lamina and llama.cpp with the same GGUF files, on the same machine.

    bench/environment
    build/bench/bin/python bench/random_llama.py 1.1b q4_0 llama-1.1b-q4_0.gguf
    python3 bench/llama_cpp.py build/bin/lamina llama-1.1b-q4_0.gguf --prompts 128,1500 --batches 1,8

bench/environment compiles llama.cpp for this machine. Both programs read prompts of so many tokens and continue them
greedily, in turns, each time in a new process; the table has medians. Tokens of all texts of a batch are counted. Peak
memory includes the pages of the file that a process has mapped. Lamina keeps keys and values as --cache says; llama.cpp
always as f16. With --device vulkan:N the llama.cpp of the PyPI package cyllama-vulkan runs there, one text at a time.
Use an idle machine.
"""

import argparse
import csv
import functools
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve()
environment = here.parent.parent / "build" / "bench"


def numbers(text):
    return [int(each) for each in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lamina")
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--device", default="cpu", help="as Lamina names it")
    parser.add_argument("--prompts", type=numbers, default=[128], help="tokens of a prompt, such as 128,1500")
    parser.add_argument("--batches", type=numbers, default=[1], help="texts at once, such as 1,8")
    parser.add_argument("--tokens", type=int, default=32, help="tokens to generate")
    parser.add_argument("--cache", default="f32", choices=["f32", "f16"])
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["full"], help="such as full,int8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", help="a Python that has llama.cpp; default: the one of bench/environment")
    return parser.parse_args()


def finished(command):
    """Runs a process; its output and its peak memory in MiB."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0), errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {output.read()}{errors.read()}")
        return output.read(), usage.ru_maxrss / 1024


# ---- One run: tokens per second of the prompts and after them, peak memory ----


def run_lamina(options, model, prompt, batch, precision):
    text, memory = finished([options.lamina, "bench", model, "--device", options.device, "--prompt-tokens", str(prompt),
                             "--tokens", str(options.tokens), "--batch", str(batch), "--cache", options.cache,
                             "--precision", precision, "--rounds", "1", "--format", "csv"])
    medians = {row["figure"]: float(row["median"]) for row in csv.DictReader(text.splitlines())}
    return medians["prompts"], medians["answers"], memory


def run_llama(options, model, prompt, batch):
    on_cpu = options.device == "cpu"
    # -P: or this file would be the module that it imports
    python = options.python or str(environment / ("" if on_cpu else "vulkan") / "bin" / "python")
    text, memory = finished([python, "-P", str(here), "--llama", options.device, model, str(prompt), str(batch),
                             str(options.tokens)])
    return *json.loads(text.splitlines()[-1]), memory


# ---- llama.cpp, in a process of its own ----


class OnCpu:
    """By llama-cpp-python."""

    def __init__(self, model, device, context, batch):
        import llama_cpp
        self.api = llama_cpp
        self.log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log, None)
        of_model, of_context = llama_cpp.llama_model_default_params(), llama_cpp.llama_context_default_params()
        of_context.n_ctx, of_context.n_seq_max = context * batch, batch
        of_context.n_threads = of_context.n_threads_batch = os.cpu_count()
        self.model = llama_cpp.llama_model_load_from_file(model.encode(), of_model)
        self.context = llama_cpp.llama_init_from_model(self.model, of_context)
        self.greedy = llama_cpp.llama_sampler_init_greedy()
        self.words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def decode(self, tokens, position):
        """The next token of each text, of which `tokens` has more: lists of the same length."""
        texts, length = len(tokens), len(tokens[0])
        batch = self.api.llama_batch_init(texts * length, 0, 1)
        batch.n_tokens = texts * length
        for at, (text, i) in enumerate(itertools.product(range(texts), range(length))):
            batch.token[at], batch.pos[at], batch.n_seq_id[at] = tokens[text][i], position + i, 1
            batch.seq_id[at][0], batch.logits[at] = text, i == length - 1
        if self.api.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama.cpp failed")
        self.api.llama_batch_free(batch)
        return [self.api.llama_sampler_sample(self.greedy, self.context, (text + 1) * length - 1)
                for text in range(texts)]


class OnVulkan:
    """By cyllama-vulkan."""

    def __init__(self, model, device, context, batch):
        if batch != 1:
            raise SystemExit("llama.cpp runs one text at a time on Vulkan here: leave out --batches")
        os.environ["GGML_VK_VISIBLE_DEVICES"] = device.split(":")[1]  # software drivers need this
        from cyllama.llama import llama_cpp
        self.api = llama_cpp
        llama_cpp.disable_logging()
        llama_cpp.ggml_backend_load_all()
        if all(each["type"] == "CPU" for each in llama_cpp.ggml_backend_dev_info()):
            raise SystemExit(f"llama.cpp finds no {device}, and would run on the CPU")
        of_model, of_context = llama_cpp.LlamaModelParams(), llama_cpp.LlamaContextParams()
        of_model.n_gpu_layers, of_model.main_gpu, of_context.n_ctx, of_context.n_batch = 999, 0, context, 2048
        self.model = llama_cpp.LlamaModel(model, of_model)
        self.context = llama_cpp.LlamaContext(self.model, of_context)
        self.greedy = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
        self.greedy.add_greedy()
        self.words = self.model.get_vocab().n_vocab

    def decode(self, tokens, position):
        self.context.decode(self.api.llama_batch_get_one(tokens[0], position))
        return [self.greedy.sample(self.context, -1)]


def llama(device, model, prompt, batch, tokens):
    program = (OnCpu if device == "cpu" else OnVulkan)(model, device, prompt + tokens, batch)
    last = program.decode([[1]] * batch, 0)  # what is done once, at the beginning; not measured
    words = [[(7919 * (text + 1) * i) % program.words for i in range(1, prompt)] for text in range(batch)]
    part = max(1, 2048 // batch)  # llama.cpp takes so many tokens at once
    begin = time.perf_counter()
    for first in range(0, prompt - 1, part):
        last = program.decode([text[first:first + part] for text in words], 1 + first)
    middle = time.perf_counter()
    for i in range(tokens - 1):
        last = program.decode([[token] for token in last], prompt + i)
    end = time.perf_counter()
    print(json.dumps([batch * (prompt - 1) / (middle - begin), batch * (tokens - 1) / (end - middle)]))


def main():
    options = arguments()
    print(f"{options.device}, {options.tokens} tokens generated, medians of {options.rounds} rounds, "
          f"{os.cpu_count()} threads; llama.cpp / Lamina, and how many times as fast Lamina is\n")
    print("| file | texts | prompt, tokens | precision | prompt, tokens/s | | answer, tokens/s | | peak memory, MiB |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for model, batch, prompt in itertools.product(options.models, options.batches, options.prompts):
        runs = {"llama.cpp": functools.partial(run_llama, options, model, prompt, batch)}
        for precision in options.precisions:
            runs[precision] = functools.partial(run_lamina, options, model, prompt, batch, precision)
        found = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, run in runs.items():
                found[name].append(run())
        medians = {name: [statistics.median(each) for each in zip(*rounds)] for name, rounds in found.items()}
        theirs = medians.pop("llama.cpp")
        for precision, ours in medians.items():
            cells = [f"{theirs[i]:.3g} / {ours[i]:.3g} | {ours[i] / theirs[i]:.2f}" for i in (0, 1)]
            print(f"| {pathlib.Path(model).stem} | {batch} | {prompt} | {precision} | {' | '.join(cells)} | "
                  f"{theirs[2]:.0f} / {ours[2]:.0f} |", flush=True)


if sys.argv[1:2] == ["--llama"]:
    llama(*sys.argv[2:4], *(int(each) for each in sys.argv[4:]))
else:
    main()
