#!/usr/bin/env python3
"""--draft of `lamina serve` and of other commands: a model guesses, and the texts are the same."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from server import Server, lamina_json, repository, server_of, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
talker = talking(here / "talker")
g2p = repository / "models" / "g2p"


class Draft(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [talker], "--draft", talker)

    def test_leaves_answers_as_they_are(self):
        with Server(lamina, [talker]) as alone:
            for options in [{}, {"temperature": 1, "seed": 3}, {"logprobs": 2}, {"temperature": 1, "seed": 5, "n": 3}]:
                request = {"model": "talker", "prompt": "w7 w9", "max_tokens": 40, "ignore_eos": True, **options}
                found, expected = (each.post("/v1/completions", request)[2] for each in [self.server, alone])
                self.assertEqual([each["text"] for each in found["choices"]],
                                 [each["text"] for each in expected["choices"]])

    def test_guesses_for_adapters_too(self):
        adapter = repository / "tests" / "architectures" / "adapters" / "llama"
        request = {"model": "french", "prompt": "w7 w9", "max_tokens": 40, "ignore_eos": True}
        with Server(lamina, [talker], "--lora", f"french={adapter}") as alone:
            expected = alone.post("/v1/completions", request)[2]["choices"]
        with Server(lamina, [talker], "--lora", f"french={adapter}", "--draft", talker) as server:
            self.assertEqual(server.post("/v1/completions", request)[2]["choices"], expected)
            found = server.get("/metrics")[2].decode()
            self.assertGreater(int(re.search(r'lamina_guessed_tokens_total{model="french"} (\d+)', found)[1]), 0)

    def test_tells_how_often_it_was_right(self):
        request = {"model": "talker", "prompt": "w7 w9", "max_tokens": 40, "ignore_eos": True}
        self.assertEqual(self.server.post("/v1/completions", request)[0], 200)
        found = self.server.get("/metrics")[2].decode()
        guessed, accepted = (int(re.search(rf'lamina_{name}_tokens_total{{model="talker"}} (\d+)', found)[1])
                             for name in ["guessed", "accepted"])
        self.assertGreater(accepted, 0)
        self.assertGreaterEqual(guessed, accepted) # some are beyond the end

    def test_is_an_option_of_other_commands(self):
        run = ["run", talker, "w7 w9", "--max-length", 30, "--ignore-end"]
        found, expected = (lamina_json(lamina, *run, *draft)[0]["hypotheses"][0] for draft in [["--draft", talker], []])
        self.assertEqual(found["tokens"], expected["tokens"])
        self.assertAlmostEqual(found["log_probability"], expected["log_probability"], 3)
        bench = lamina_json(lamina, "bench", talker, "--draft", talker, "--text", "w7 w9", "--tokens", 30, "--rounds", 2)
        self.assertIn("right guesses", str(bench))

    def test_that_cannot_guess_is_refused(self):
        for arguments, why in [([talker, "--draft", g2p], "expected a model without an encoder"),
                               ([talker, f"x={talker}", "--draft", talker], "--draft: expected one MODEL")]:
            done = subprocess.run([lamina, "serve", *map(str, arguments), "--device", "cpu", "--port", "0"],
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
