#!/usr/bin/env python3
"""Measures how many requests `lamina serve` answers, and how long each waits, for 1, 8 and 32 clients at once.

    bench/serve_load.py build/bin/lamina SmolLM2=SmolLM2-135M-Instruct.Q4_1.gguf MiniLM=all-MiniLM-L6-v2
    bench/serve_load.py build/bin/lamina SmolLM2=SmolLM2-135M-Instruct.Q4_1.gguf --system 500 [--own-systems]
    bench/serve_load.py build/bin/lamina SmolLM2=SmolLM2-135M-Instruct.Q4_1.gguf --clients 1,8 \\
        --beside build/bench/llama-server [--rounds 3]

A client asks, waits for the answer, and asks again. Prints a table in Markdown, with medians of all rounds. With
--beside, llama.cpp's server, which bench/environment compiles for this machine, answers the same requests with the same
file, in turns; each server is started anew for each line of the table and each round.
"""

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("lamina", help="the command")
parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL")
parser.add_argument("--beside", metavar="LLAMA_SERVER", help="llama.cpp's server, on the CPU")
parser.add_argument("--device", default="cpu")
parser.add_argument("--precision", default="full", choices=["full", "half", "int8"], help="of Lamina")
parser.add_argument("--clients", default="1,8,32", metavar="N,...")
parser.add_argument("--requests", type=int, default=32, help="of all clients together, for each number of clients")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--tokens", type=int, default=32, help="of an answer")
parser.add_argument("--system", type=int, default=0, metavar="WORDS", help="length of a system prompt")
parser.add_argument("--own-systems", action="store_true", help="one that begins with another word in each request")
parser.add_argument("--slots", type=int, default=8, help="answers that are written side by side")
parser.add_argument("--context", type=int, default=4096, help="tokens of a text")
arguments = parser.parse_args()

subjects = ["the sea", "a cat", "the moon", "an old house", "rain", "a train", "the desert", "bread"]


def body_of(model, path, i):
    """Another text each time, of about the same length."""
    text = f"Write a short story about {subjects[i % 8]} and {subjects[i // 8 % 8]}."
    if path == "/v1/embeddings":
        return {"model": model, "input": text}
    messages = [{"role": "user", "content": text}]
    if arguments.system > 0:
        words = [str(i)] * arguments.own_systems + [subjects[k * k % 8] for k in range(arguments.system)]
        messages.insert(0, {"role": "system", "content": " ".join(words)})
    # Both write as many tokens, also where a text would end before.
    return {"model": model, "messages": messages, "max_tokens": arguments.tokens, "temperature": 0, "ignore_eos": True}


def ask(connection, path, body):
    """The seconds that an answer took, and its tokens."""
    began = time.perf_counter()
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status != 200:
        raise RuntimeError(answer)
    return time.perf_counter() - began, answer["usage"].get("completion_tokens", 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    return False


@contextlib.contextmanager
def server(program, model):
    """A server of one model, and its port."""
    port = free_port()
    if program == "Lamina":
        command = [arguments.lamina, "serve", model, "--device", arguments.device, "--port", str(port),
                   "--slots", str(arguments.slots), "--context", str(arguments.context), "--precision", arguments.precision]
    else:
        threads = str(len(os.sched_getaffinity(0)))
        command = [arguments.beside, "--model", model.partition("=")[2] or model, "--port", str(port),
                   "--parallel", str(arguments.slots), "--ctx-size", str(arguments.slots * arguments.context),
                   "--threads", threads, "--threads-batch", threads, "--threads-http", str(arguments.slots)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not is_ready(port):
            if process.poll() is not None:
                raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def measure(port, clients):
    """(latencies, seconds in all, tokens) of all requests."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/v1/models")
    model = json.loads(connection.getresponse().read())["data"][0]
    embeds = "/v1/embeddings" in model.get("endpoints", []) and "/v1/chat/completions" not in model["endpoints"]
    path = "/v1/embeddings" if embeds else "/v1/chat/completions"
    # Plans are made. The connection from above may have been closed meanwhile.
    ask(http.client.HTTPConnection("127.0.0.1", port), path, body_of(model["id"], path, arguments.requests))
    numbers = iter(range(arguments.requests))

    def client(_):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        return [ask(connection, path, body_of(model["id"], path, i)) for i in numbers]  # each takes the next number

    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        found = [each for some in pool.map(client, range(clients)) for each in some]
    return [each[0] for each in found], time.perf_counter() - began, sum(each[1] for each in found)


programs = ["Lamina"] + ["llama.cpp"] * (arguments.beside is not None)
print("| model | clients | server | requests a second | tokens a second | median s | p95 s |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for name in arguments.models:
    for clients in map(int, arguments.clients.split(",")):
        rounds = {program: [] for program in programs}
        for _ in range(arguments.rounds):
            for program in programs:
                with server(program, name) as port:
                    rounds[program].append(measure(port, clients))
        for program in programs:
            requests = statistics.median(len(times) / seconds for times, seconds, _ in rounds[program])
            tokens = [written / seconds for _, seconds, written in rounds[program]]
            spread = f" ({min(tokens):.0f}–{max(tokens):.0f})" if len(tokens) > 1 else ""
            times = [each for some, _, _ in rounds[program] for each in some]
            print(f"| {name.partition('=')[0]} | {clients} | {program} | {requests:.2f} | "
                  f"{statistics.median(tokens):.1f}{spread} | {statistics.median(times):.2f} | "
                  f"{statistics.quantiles(times, n=20)[-1]:.2f} |", flush=True)
