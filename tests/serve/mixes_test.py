#!/usr/bin/env python3
"""Requests that mix adapters, each as strong as they want: answers are those of models with the same merged."""

import concurrent.futures
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import time
import unittest

from server import ScoredAnswers, Server, repository, scored_answers, server_of, talking

lamina = sys.argv.pop(1)
folder = pathlib.Path(tempfile.mkdtemp())
talker = talking(folder / "talker", {"max_position_embeddings": 5000})
first = repository / "tests" / "architectures" / "adapters" / "llama"
second = folder / "second"
greedy = {"prompt": "w7 w9 w3 w12 w30", "max_tokens": 12, "ignore_eos": True, "logprobs": 3}
sampled = {**greedy, "temperature": 1, "seed": 7, "n": 3}
boss = {"Authorization": "Bearer boss"}


def make_second():
    """The first one with other numbers: those of each matrix turned round."""
    shutil.copytree(first, second)
    file = second / "adapter_model.safetensors"
    whole = file.read_bytes()
    begin = 8 + struct.unpack("<Q", whole[:8])[0]
    out = bytearray(whole)
    for tensor in json.loads(whole[8:begin]).values():
        if "dtype" not in tensor:
            continue
        a, b = (begin + each for each in tensor["data_offsets"])
        width, kind = {"F32": (4, "f"), "F16": (2, "e")}[tensor["dtype"]]
        form = f"<{(b - a) // width}{kind}"
        out[a:b] = struct.pack(form, *reversed(struct.unpack(form, whole[a:b])))
    file.write_bytes(out)


def answers(server, request, scales=None, model="talker"):
    mix = {} if scales is None else {"lora": [{"id": i, "scale": scale} for i, scale in enumerate(scales)]}
    return scored_answers(server, {**request, "model": model, **mix})


class Mixes(ScoredAnswers, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_second()
        cls.server = server_of(cls, lamina, [talker], "--lora", f"first={first}", "--lora", f"second={second}=0.5",
                               "--admin-key", "boss")

    def test_answer_as_what_is_merged(self):
        """One that is scaled, turned round, both added, one against the other, and none."""
        texts = set()
        for scales in [(0.7, 0), (-1, 0), (0.25, 0.5), (1, -1), (0, 0), (0, 0.5)]:
            merged = [each for name, scale in zip((first, second), scales) if scale for each in ("--lora", f"{name}={scale}")]
            with Server(lamina, [talker], *merged) as alone:
                for request in [greedy, sampled]:
                    expected = answers(alone, request)
                    self.same(answers(self.server, request, scales), expected)
                    texts.add(expected[0][0])
        self.assertGreater(len(texts), 6)
        self.same(answers(self.server, greedy, [1]), answers(self.server, greedy, model="first"))
        self.same(answers(self.server, greedy, [0, 0.5]), answers(self.server, greedy, model="second"))
        self.same(answers(self.server, greedy, []), answers(self.server, greedy))

    def test_answer_conversations(self):
        def chat(**more):
            body = {"model": "talker", "messages": [{"role": "user", "content": "w7 w9"}], "max_tokens": 9, "temperature": 0}
            return self.server.post("/v1/chat/completions", {**body, **more})[2]["choices"][0]["message"]["content"]
        mixed = chat(lora=[{"id": 0, "scale": 1}])
        self.assertEqual(mixed, chat(model="first"))
        self.assertNotEqual(mixed, chat())

    def test_know_no_texts_of_each_other(self):
        request = {"model": "talker", "prompt": " ".join(f"w{4 + i}" for i in range(20)), "max_tokens": 1}
        for scales in [(0.3, 0), (0.3, 0.1), (0, 0.3), (0.31, 0)]:
            for again in [False, True]:
                lora = [{"id": i, "scale": scale} for i, scale in enumerate(scales)]
                found = self.server.post("/v1/completions", {**request, "lora": lora})[2]
                self.assertEqual(found["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, again, scales)

    def test_take_the_places_of_each_other(self):
        """More of them than there may be at a time, and no more clients than places."""
        scales = [(i / 8, (7 - i) / 8) for i in range(8)]
        alone = [answers(self.server, greedy, each) for each in scales]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for found, expected in zip(pool.map(lambda each: answers(self.server, greedy, each), scales * 2), alone * 2):
                self.same(found, expected)

    def test_are_refused_while_all_places_are_in_use(self):
        connections = [self.server.connection() for _ in range(4)]
        for i, each in enumerate(connections): # as long as nobody reads their answers to the end
            each.request("POST", "/v1/completions", json.dumps({
                "model": "talker", "prompt": "w7", "max_tokens": 3000, "n": 100, "temperature": 1, "stream": True,
                "ignore_eos": True, "lora": [{"id": 0, "scale": 2 + i}]}))
            self.assertTrue(each.getresponse().readline().startswith(b"data: {"))
        body = {**greedy, "model": "talker", "lora": [{"id": 0, "scale": 9}]}
        status, headers, found = self.server.post("/v1/completions", body)
        for each in connections:
            each.close()
        self.assertEqual((status, found["error"]["param"], headers["Retry-After"]), (503, "lora", "1"), found)
        deadline = time.monotonic() + 60
        while self.server.post("/v1/completions", body)[0] != 200:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_are_unloaded_with_their_parent(self):
        def wait(*values):
            ended = time.monotonic() + 60
            while [each["status"]["value"] for each in self.server.get("/v1/models")[2]["data"]] != list(values):
                self.assertLess(time.monotonic(), ended)
                time.sleep(0.05)

        before = answers(self.server, greedy, (0.5, 0.5))
        self.server.post("/models/unload", {"model": "talker"}, **boss)
        wait("unloaded", "unloaded", "unloaded")
        self.assertEqual(self.server.post("/v1/completions", {**greedy, "model": "talker", "lora": [{"id": 0, "scale": 1}]})[0],
                         503)
        self.server.post("/models/load", {"model": "talker"}, **boss)
        wait("loaded", "unloaded", "unloaded")
        self.same(answers(self.server, greedy, (0.5, 0.5)), before)
        for name in ["first", "second"]:
            self.server.post("/models/load", {"model": name}, **boss)
        wait("loaded", "loaded", "loaded")

    def test_have_slots_as_long_as_they_are_used_or_may_be_again(self):
        def slots():
            return len(server.get("/slots?model=talker")[2])

        with Server(lamina, [talker], "--lora", f"first={first}", "--admin-key", "boss") as server:
            alone, lora = slots(), [{"id": 0, "scale": 0.5}]
            for wrong in [{"prompt": "w3 " * 5000}, {"top_p": 0.5}, {"logit_bias": {"99": 1}}]:
                body = {**greedy, "model": "talker", "lora": lora, **wrong}
                self.assertEqual(server.post("/v1/completions", body)[0], 400)
            self.assertEqual(slots(), alone) # what is refused makes none
            self.assertEqual(server.post("/v1/completions", {**greedy, "model": "talker", "lora": lora})[0], 200)
            self.assertEqual(slots(), 2 * alone)
            # One that is in use when its adapter is unloaded ends after its last request.
            connection = server.connection()
            connection.request("POST", "/v1/completions", json.dumps({
                "model": "talker", "prompt": "w7", "max_tokens": 3000, "n": 100, "temperature": 1, "stream": True,
                "ignore_eos": True, "lora": lora}))
            self.assertTrue(connection.getresponse().readline().startswith(b"data: {"))
            server.post("/models/unload", {"model": "first"}, **boss)
            self.assertEqual(slots(), 2 * alone)
            connection.close()
            ended = time.monotonic() + 60
            while slots() != alone:
                self.assertLess(time.monotonic(), ended)
                time.sleep(0.05)

    def test_that_cannot_be_are_refused(self):
        for model, lora, words in [
                ("talker", [{"id": 2, "scale": 1}], "/lora: there is no adapter 2: talker has 2"),
                ("first", [{"id": 0, "scale": 1}], "/lora: first is an adapter"),
                ("talker", [{"id": 0, "scale": 1}, {"id": 0, "scale": 2}], "/lora: expected each adapter once"),
                ("talker", [{"id": 0, "scale": 1e9}], "/lora/0/scale: expected a number from -100 to 100"),
                ("talker", [{"id": 0}], "/lora/0"), ("talker", [{"id": -1, "scale": 1}], "/lora/0/id"),
                ("talker", [{"id": 0, "scale": 1, "name": "x"}], "/lora/0/name: unknown field"),
                ("talker", "first", "/lora: expected")]:
            status, _, body = self.server.post("/v1/completions", {**greedy, "model": model, "lora": lora})
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])
            self.assertEqual(body["error"]["param"], "lora")

    def test_have_adapters_that_are_listed(self):
        found = [(each["id"], each["path"], each["scale"], each["model"])
                 for each in self.server.get("/lora-adapters")[2]]
        self.assertEqual(found, [(0, "first", 1, "talker"), (1, "second", 0.5, "talker")])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
