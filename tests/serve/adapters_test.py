#!/usr/bin/env python3
"""Adapters of `lamina serve` that requests choose by name: they answer as a server of the merged model does."""

import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from server import ScoredAnswers, Server, repository, scored_answers, server_of, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
talker = talking(pathlib.Path(folder.name) / "talker")
adapter = repository / "tests" / "architectures" / "adapters" / "llama"
greedy = {"prompt": "w7 w9 w3 w12 w30", "max_tokens": 12, "ignore_eos": True, "logprobs": 3}
sampled = {**greedy, "temperature": 1, "seed": 7, "n": 3}
boss = {"Authorization": "Bearer boss"}


def answers(server, model, request):
    return scored_answers(server, {**request, "model": model})


class Adapters(ScoredAnswers, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [talker], "--lora", f"french={adapter}", "--lora", f"half={adapter}=0.5",
                               "--admin-key", "boss")

    def test_answer_as_merged_alone(self):
        texts = set()
        for name, lora in [("talker", []), ("french", ["--lora", adapter]), ("half", ["--lora", f"{adapter}=0.5"])]:
            with Server(lamina, [f"{name}={talker}"], *lora) as alone:
                for request in [greedy, sampled]:
                    self.same(answers(self.server, name, request), answers(alone, name, request))
            texts.add(answers(self.server, name, greedy)[0][0])
        self.assertEqual(len(texts), 3)

    def test_answer_side_by_side(self):
        names = ["talker", "french", "half"]
        alone = {name: answers(self.server, name, greedy) for name in names}
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            asked = [(name, pool.submit(answers, self.server, name, greedy)) for name in names * 3]
            for name, each in asked:
                self.same(each.result(), alone[name])

    def test_know_no_texts_of_each_other(self):
        prompt = " ".join(f"w{3 + i}" for i in range(20))
        for name in ["talker", "french", "half"]:
            for again in [False, True]:
                found = self.server.post("/v1/completions", {"model": name, "prompt": prompt, "max_tokens": 1})[2]
                self.assertEqual(found["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, again, name)

    def test_are_listed_with_their_parent(self):
        found = {each["id"]: each["parent"] for each in self.server.get("/v1/models")[2]["data"]}
        self.assertEqual(found, {"talker": None, "french": "talker", "half": "talker"})

    def test_are_unloaded_before_their_parent_and_loaded_after_it(self):
        def wait(*values):
            ended = time.monotonic() + 60
            while [each["status"]["value"] for each in self.server.get("/v1/models")[2]["data"]] != list(values):
                self.assertLess(time.monotonic(), ended)
                time.sleep(0.05)

        before = answers(self.server, "half", greedy)
        self.server.post("/models/unload", {"model": "half"}, **boss)
        wait("loaded", "loaded", "unloaded")
        self.server.post("/models/unload", {"model": "talker"}, **boss)
        wait("unloaded", "unloaded", "unloaded")
        self.server.post("/models/load", {"model": "half"}, **boss)
        wait("loaded", "unloaded", "loaded")
        self.same(answers(self.server, "half", greedy), before)
        self.server.post("/models/load", {"model": "french"}, **boss)
        wait("loaded", "loaded", "loaded")

    def test_that_cannot_be_are_refused(self):
        for options, why in [(["--lora", f"talker={adapter}"], "'talker' cannot be the name of another adapter"),
                             (["--lora", f"x={adapter}", "--lora", f"x={adapter}"], "'x' cannot be the name of another"),
                             (["--lora", f"x={adapter}=much"], "ADAPTER=SCALE with a number"),
                             (["--lora", adapter, "--lora", f"x={adapter}"], "adapters were merged into this model"),
                             (["--lora", f"x={talker}"], "adapter_config.json")]:
            done = subprocess.run([lamina, "serve", talker, *map(str, options), "--device", "cpu", "--port", "0"],
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
