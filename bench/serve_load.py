#!/usr/bin/env python3
"""Measures how many requests `lamina serve` answers, and how long each waits, for 1, 8 and 32 clients at once.

    bench/serve_load.py build/bin/lamina SmolLM2-135M-Instruct.Q4_1.gguf all-MiniLM-L6-v2 [--device cpu]
    bench/serve_load.py build/bin/lamina SmolLM2-135M-Instruct.Q4_1.gguf --system 500 [--own-systems]

A client asks, waits for the answer, and asks again. Prints a table in Markdown.
"""

import argparse
import concurrent.futures
import http.client
import json
import statistics
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("lamina", help="the command")
parser.add_argument("models", nargs="+", metavar="MODEL")
parser.add_argument("--device", default="cpu")
parser.add_argument("--clients", default="1,8,32", metavar="N,...")
parser.add_argument("--requests", type=int, default=32, help="of all clients together, for each number of clients")
parser.add_argument("--tokens", type=int, default=32, help="of an answer")
parser.add_argument("--system", type=int, default=0, metavar="WORDS", help="length of a system prompt")
parser.add_argument("--own-systems", action="store_true", help="one that begins with another word in each request")
parser.add_argument("--slots", type=int, default=8, help="answers that are written side by side")
arguments = parser.parse_args()

subjects = ["the sea", "a cat", "the moon", "an old house", "rain", "a train", "the desert", "bread"]


def body_of(model, endpoint, i):
    """Another text each time, of about the same length."""
    text = f"Write a short story about {subjects[i % 8]} and {subjects[i // 8 % 8]}."
    if endpoint == "/v1/embeddings":
        return {"model": model, "input": text}
    messages = [{"role": "user", "content": text}]
    if arguments.system > 0:
        words = [str(i)] * arguments.own_systems + [subjects[k * k % 8] for k in range(arguments.system)]
        messages.insert(0, {"role": "system", "content": " ".join(words)})
    return {"model": model, "messages": messages, "max_tokens": arguments.tokens, "temperature": 0}


def ask(connection, path, body):
    """The seconds that an answer took, and its tokens."""
    began = time.perf_counter()
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status != 200:
        raise RuntimeError(answer)
    return time.perf_counter() - began, answer["usage"].get("completion_tokens", 0)


def measure(port, model, path, clients):
    """(latencies, seconds in all, tokens) of all requests."""
    numbers = iter(range(arguments.requests))

    def client(_):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        return [ask(connection, path, body_of(model, path, i)) for i in numbers] # each takes the next number

    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        found = [each for some in pool.map(client, range(clients)) for each in some]
    return [each[0] for each in found], time.perf_counter() - began, sum(each[1] for each in found)


server = subprocess.Popen([arguments.lamina, "serve", *arguments.models, "--device", arguments.device, "--port", "0",
                           "--slots", str(arguments.slots)], stdout=subprocess.PIPE, text=True)
try:
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/v1/models")
    print("| model | clients | requests a second | tokens a second | median s | p95 s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model in json.loads(connection.getresponse().read())["data"]:
        path = next(each for each in model["endpoints"] if each in ("/v1/chat/completions", "/v1/embeddings"))
        # Plans are made. The connection from above may have been closed meanwhile.
        ask(http.client.HTTPConnection("127.0.0.1", port), path, body_of(model["id"], path, 0))
        for clients in map(int, arguments.clients.split(",")):
            times, seconds, tokens = measure(port, model["id"], path, clients)
            worst = statistics.quantiles(times, n=20)[-1]
            print(f"| {model['id']} | {clients} | {len(times) / seconds:.2f} | {tokens / seconds:.1f} | "
                  f"{statistics.median(times):.2f} | {worst:.2f} |", flush=True)
finally:
    server.terminate()
    server.wait()
