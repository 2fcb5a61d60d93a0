#!/usr/bin/env python3
"""Asks `lamina serve` what its models are writing, as clients of llama.cpp do."""

import json
import pathlib
import sys
import tempfile
import unittest

from server import Server, server_of, talking, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
first, second = {"Authorization": "Bearer first"}, {"Authorization": "Bearer second"}


class Slots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        endless = talking(here / "endless", {"max_position_embeddings": 100000})
        models = [with_words("sentences", here / "sentences"), endless, talking(here / "talker")]
        cls.server = server_of(cls, lamina, models, "--slots", 2, "--context", 90000, "--api-key", "first", "--api-key",
                               "second")

    def slots(self, key, query="?model=endless"):
        status, _, found = self.server.get("/slots" + query, **key)
        self.assertEqual(status, 200, found)
        return found

    def begin(self, **more):
        """An answer that goes on until its connection is closed, whose first words are here."""
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = {"model": "endless", "prompt": "w7 w9 w11", "max_tokens": 80000, "stream": True, "temperature": 0.5,
                "seed": 9, "stop": "w60", "ignore_eos": True, **more}
        connection.request("POST", "/v1/completions", json.dumps(body), first)
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertTrue(response.readline().startswith(b"data: "))
        return connection, response

    def wait_until_free(self):
        while any(each["is_processing"] for each in self.slots(first)):
            pass

    def test_are_those_of_all_models_that_write(self):
        found = self.slots(first, "")
        self.assertEqual([(each["model"], each["id"]) for each in found],
                         [("endless", 0), ("endless", 1), ("talker", 0), ("talker", 1)])
        self.assertEqual(found[0]["n_ctx"], 90000)
        self.assertEqual([each["n_ctx"] for each in self.slots(first, "?model=talker")], [64, 64])
        self.assertEqual(self.server.get("/slots?model=nothing", **first)[0], 404)
        self.assertEqual(self.slots(first, "?model=sentences"), [])
        self.assertEqual(self.server.get("/slots")[0], 401)

    def test_tell_how_a_text_is_written_only_to_who_asked_for_it(self):
        connection, response = self.begin()
        for key in [first, second]:
            busy = [each for each in self.slots(key) if each["is_processing"]]
            self.assertEqual(len(busy), 1)
            self.assertGreaterEqual(busy[0]["n_past"], 3)
            self.assertEqual("params" in busy[0], key is first)
        params = next(each["params"] for each in self.slots(first) if each["is_processing"])
        self.assertEqual((params["temperature"], params["seed"], params["max_tokens"]), (0.5, 9, 80000))
        for key in [first, second]: # no words of anybody
            self.assertNotRegex(json.dumps(self.slots(key)), r"w\d")
        connection.close()
        response.close()
        self.wait_until_free()
        self.assertFalse(any("params" in each for each in self.slots(first)))
        self.assertGreater(max(each["n_past"] for each in self.slots(second)), 3) # caches stay

    def test_count_tokens_as_they_come(self):
        connection, response = self.begin()
        counts = set()
        while len(counts) < 3 or max(counts) <= 10: # if it does not grow, this does not end
            counts.add(max(each["n_past"] for each in self.slots(first) if each["is_processing"]))
        connection.close()
        response.close()
        self.wait_until_free()

    def test_are_missing_when_all_are_busy(self):
        self.assertEqual(self.server.get("/slots?model=endless&fail_on_no_slot=1", **first)[0], 200)
        answers = [self.begin(prompt="w7"), self.begin(prompt="w9")]
        self.assertEqual([each["is_processing"] for each in self.slots(second)], [True, True])
        status, _, found = self.server.get("/slots?model=endless&fail_on_no_slot=1", **second)
        self.assertEqual((status, found["error"]["message"]), (503, "no slot is free"))
        for connection, response in answers:
            connection.close()
            response.close()
        self.wait_until_free()


class WithoutKeys(unittest.TestCase):
    def test_a_client_is_an_address(self):
        with Server(lamina, [here / "endless"], "--context", 90000) as server:
            connection = server.connection()
            connection.request("POST", "/v1/completions", json.dumps(
                {"model": "endless", "prompt": "w7", "max_tokens": 80000, "stream": True, "ignore_eos": True}))
            response = connection.getresponse()
            response.readline()
            for address, same in [("127.0.0.1", True), ("127.0.0.2", False)]:
                found = server.ask("GET", "/slots", address=address)[2]
                busy = [each for each in found if each["is_processing"]]
                self.assertEqual(["params" in each for each in busy], [same])
            connection.close()
            response.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
