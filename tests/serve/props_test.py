#!/usr/bin/env python3
"""Asks `lamina serve` what its models can do, as clients of llama.cpp do."""

import json
import pathlib
import sys
import tempfile
import unittest

from server import Server, server_of, spelling, talking, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
sentences = with_words("sentences", here / "sentences")
speller = spelling(here / "speller two")
(speller / "generation_config.json").write_text(json.dumps({"do_sample": True, "temperature": 0.6, "top_k": 20}))
talker = talking(here / "talker")


class Props(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences, speller, talker], "--slots", 3, "--context", 500)

    def props(self, model):
        status, _, found = self.server.get("/props?model=" + model)
        self.assertEqual(status, 200, found)
        return found

    def test_tell_what_a_model_can_do_and_how_it_does_it_by_default(self):
        found = self.props("speller%20two")
        self.assertEqual(found, self.props("speller+two"))
        self.assertEqual((found["model_alias"], found["total_slots"]), ("speller two", 3))
        self.assertEqual(found["default_generation_settings"]["n_ctx"], 500)
        numbers = found["default_generation_settings"]["params"]
        self.assertEqual((numbers["temperature"], numbers["top_k"], numbers["min_p"]), (0.6, 20, 0))
        self.assertEqual(self.props("talker")["default_generation_settings"]["params"]["temperature"], 0)
        self.assertEqual(found["modalities"], {"vision": False, "audio": False})
        self.assertRegex(found["build_info"], r"^lamina [0-9]+\.[0-9]+\.[0-9]+")
        read = self.props("sentences")
        self.assertEqual((read["total_slots"], read["default_generation_settings"]["params"]), (0, {}))

    def test_tell_numbers_that_a_request_takes(self):
        """A request that has all of them gets the answer of one that has none."""
        numbers = self.props("speller+two")["default_generation_settings"]["params"]
        self.assertEqual(numbers.pop("n_predict"), numbers["max_tokens"])
        asked = {"model": "speller two", "prompt": "hi", "seed": 7}
        bare = self.server.post("/v1/completions", asked)[2]
        status, _, found = self.server.post("/v1/completions", asked | numbers)
        self.assertEqual(status, 200, found)
        self.assertEqual(found["choices"][0]["text"], bare["choices"][0]["text"])

    def test_are_of_the_only_model_or_of_one_that_is_named(self):
        status, _, found = self.server.get("/props")
        self.assertEqual(status, 400)
        self.assertIn("one of sentences, speller two, talker", found["error"]["message"])
        status, _, found = self.server.get("/props?model=speller")
        self.assertEqual(status, 404)
        with Server(lamina, [talker]) as server:
            self.assertEqual(server.get("/props")[2]["model_alias"], "talker")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
