#!/usr/bin/env python3
"""Sends `lamina serve` many requests, one in five of them hostile:

    tests/serve/soak.py build/asan/bin/lamina --requests 100000

Requests of good clients must be answered right, probes within a second throughout, and at the end the server may take at
most 1.1 times (--growth) the memory that it took after the first tenth.

Until then sessions make programs for the shapes in which texts of several clients meet. Eight clients and 100,000
requests: 4.2 MiB are allocated after 1,000 requests, 5.2 after 5,000, and 5.4 to 5.6 from 15,000 to the end; one client:
3.4 to 3.5 from 2,000 on.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import socket
import sys
import tempfile
import threading
import time

from server import Server, talking, with_words

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("lamina")
parser.add_argument("--requests", type=int, default=100000)
parser.add_argument("--clients", type=int, default=8)
parser.add_argument("--growth", type=float, default=1.1, help="how many times as much memory is allowed")
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()
# What glibc keeps of freed memory rises and falls by MiBs: an arena for each thread, and blocks up to a moving size.
os.environ |= {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

post = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
length = b"Content-Length: %d\r\n\r\n"
texts = ["w3 w9 w4", "w7", "w8 w9 w10 w11", "w5 w6 w7 w8 w9 w10 w11"]


def memory(server):
    """Bytes of the process that are in memory."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


class Good:
    """What clients ask, and what the first of them was answered."""

    def __init__(self):
        self.answers, self.lock = {}, threading.Lock()

    def requests(self, chance):
        text = chance.choice(texts)
        chat = {"model": "llama", "messages": [{"role": "user", "content": text}], "max_tokens": 3}
        return chance.choice([
            ("GET", "/v2/health/ready", None), ("GET", "/v1/models", None), ("GET", "/", None), ("GET", "/v2", None),
            ("POST", "/v1/embeddings", {"model": "sentences", "input": text}),
            ("POST", "/v1/completions", {"model": "llama", "prompt": text, "max_tokens": 4}),
            ("POST", "/v1/chat/completions", chat), ("POST", "/v1/chat/completions", chat | {"stream": True})])

    def ask(self, connection, chance):
        method, path, body = self.requests(chance)
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        found = response.read()
        assert response.status == 200, (path, response.status, found[:500])
        if b'"embedding"' in found: # larger matrices are summed in another order
            found = [round(each, 4) for each in json.loads(found)["data"][0]["embedding"]]
        elif b'"choices"' in found:
            events = [json.loads(each[6:]) for each in found.split(b"\n\n") if each.startswith(b"data: {")]
            choices = [each["choices"][0] for each in events or [json.loads(found)]]
            found = "".join(each.get("text") or each.get("delta", each.get("message", {})).get("content", "")
                            for each in choices)
        with self.lock:
            wanted = self.answers.setdefault((path, json.dumps(body)), found)
        if isinstance(found, list):
            assert all(abs(a - b) < 1e-3 for a, b in zip(found, wanted, strict=True)), (body, found, wanted)
        else:
            assert found == wanted, (body, found, wanted)


def leave_a_stream(connection, chance):
    ask = json.dumps({"model": "llama", "prompt": "w3", "max_tokens": 500, "stream": True}).encode()
    connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + length % len(ask) + ask)
    connection.recv(chance.choice([1, 300]))


def say(*pieces):
    """Sends bytes, and reads an answer if there is one at once."""
    def send(connection, chance):
        for piece in pieces:
            connection.sendall(piece(chance) if callable(piece) else piece)
        connection.settimeout(0.05)
        connection.recv(1 << 16)
    return send


def leave(*pieces):
    """Sends bytes, and waits for nothing."""
    return lambda connection, chance: [connection.sendall(each) for each in pieces]


hostile = [
    leave_a_stream,
    say(lambda chance: chance.randbytes(chance.randrange(1, 20000))),
    say(b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 20000), say(b"GET /" + b"a" * 20000), say(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 500),
    say(post + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"), say(post + length % (1 << 40)),
    say(post + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 20000),
    say(post + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;xxxx\r\n \r\n" * 2000),
    say(post + b"Content-Encoding: gzip\r\n" + length % 9 + b"123456789"),
    say(post + length % 100000 + b"[" * 100000), say(post + length % 200000 + b'{"a":' + b"[1," * 60000 + b"x" * 19995),
    say(post + length % 20 + b'{"model":"sentences"'), leave(post + length % 1000000 + b" " * 500000),
    leave(post[:30]), leave(), leave(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100),
    say(b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
        length % 5000 + b"--b\r\n" * 1000),
]


class Parked:
    """Connections that begin a request and stay, until there are too many."""

    def __init__(self):
        self.connections, self.lock = [], threading.Lock()

    def add(self, server, chance):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        connection.sendall(chance.choice([b"", post, post + length % 100000 + b" " * 5000]))
        with self.lock:
            self.connections.append(connection)
            if len(self.connections) > 50: # reached within the first 1,000 requests
                self.connections.pop(0).close()


def attack(server, chance, parked):
    with contextlib.suppress(ConnectionError, TimeoutError): # it may be cut off
        if chance.random() < 0.3:
            return parked.add(server, chance)
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            chance.choice(hostile)(connection, chance)


def client(server, number, count, faults, good, parked):
    chance = random.Random(arguments.seed * 1000 + number)
    connection = server.connection()
    try:
        while not faults and next(count) < arguments.requests:
            if chance.random() < 0.2:
                attack(server, chance, parked)
                continue
            if chance.random() < 0.05: # most keep their connection
                connection.close()
            good.ask(connection, chance)
    except Exception as error: # noqa: BLE001
        faults.append(f"client {number}: {error!r}")
    finally:
        connection.close()


def probe(server, over, faults, longest):
    while not over.wait(0.1):
        began = time.monotonic()
        try:
            assert server.get("/v2/health/ready")[0] == 200
        except Exception as error: # noqa: BLE001
            faults.append(f"probe: {error!r}")
        longest[0] = max(longest[0], time.monotonic() - began)


def soak(server):
    """Prints the memory after the first tenth and at the end, and the longest probe. Returns what went wrong."""
    count, faults, longest, over = itertools.count(), [], [0.0], threading.Event()
    threads = [threading.Thread(target=client, args=(server, i, count, faults, Good(), parked))
               for parked in [Parked()] for i in range(arguments.clients)]
    watcher = threading.Thread(target=probe, args=(server, over, faults, longest))
    watcher.start()
    for each in threads:
        each.start()
    first, began = 0, time.monotonic()
    while any(each.is_alive() for each in threads):
        time.sleep(0.2)
        done = int(repr(count)[6:-1])
        if first == 0 and done >= arguments.requests // 10:
            first = memory(server)
        if sys.stdout.isatty():
            print(f"\r{done} requests, {memory(server) >> 20} MiB", end="", flush=True)
    last = memory(server)
    over.set()
    watcher.join()
    print(f"\r{arguments.requests} requests in {time.monotonic() - began:.0f} s: {first >> 20} MiB after the first tenth, "
          f"{last >> 20} MiB at the end; the longest probe took {longest[0]:.2f} s")
    if last > arguments.growth * first:
        faults.append("memory has grown")
    if longest[0] > 1:
        faults.append("probes took too long")
    return faults


with tempfile.TemporaryDirectory() as folder:
    models = [with_words("sentences", pathlib.Path(folder) / "sentences"), talking(pathlib.Path(folder) / "llama")]
    with Server(arguments.lamina, models) as running:
        found = soak(running)
        status = running.end()
        if status != 0:
            found.append(f"the server ended with status {status}: {running.process.stderr.read()[-3000:]}")
if found:
    sys.exit("\n".join(found))
