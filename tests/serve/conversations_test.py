#!/usr/bin/env python3
"""Asks `lamina serve` again and again: what texts have in common is reused, and conversations become too long."""

import json
import pathlib
import sys
import tempfile
import unittest

from server import Server, lamina_json, server_of, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
model = talking(pathlib.Path(folder.name) / "llama", {"max_position_embeddings": 200})


def said(*texts):
    """A conversation of the user and the assistant, behind a message of the system."""
    roles = ["system"] + ["user", "assistant"] * len(texts)
    return [{"role": role, "content": text} for role, text in zip(roles, texts)]


def words(count, first):
    return " ".join(f"w{(first * 7 + i * i) % 39}" for i in range(count))


class Conversations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [model])

    def chat(self, messages, server=None, address="127.0.0.1", path="/v1/chat/completions", **more):
        body = {"model": "llama", "messages": messages, "max_tokens": 6, **more}
        return (server or self.server).ask("POST", path, body, {"Content-Type": "application/json"}, address)

    def test_go_on_where_they_ended(self):
        texts = [words(30, 1), words(9, 2)]
        first = self.chat(said(*texts))[2]
        self.assertEqual(first["usage"]["prompt_tokens_details"], {"cached_tokens": 0})
        texts += [first["choices"][0]["message"]["content"], words(8, 3)]
        second = self.chat(said(*texts))[2]
        # The template writes a word before an answer that the model itself does not write.
        self.assertEqual(second["usage"]["prompt_tokens_details"], {"cached_tokens": first["usage"]["prompt_tokens"]})
        with Server(lamina, [model]) as fresh:
            self.assertEqual(self.chat(said(*texts), fresh)[2]["choices"], second["choices"])

    def test_of_different_clients_have_their_beginnings_in_common(self):
        system, two = words(50, 4), {"n": 2, "temperature": 1, "seed": 7}
        answers = [self.chat(said(system, words(5, 5 + i)), address=f"127.0.0.{i + 2}", **two)[2] for i in range(3)]
        reused = [each["usage"]["prompt_tokens_details"]["cached_tokens"] for each in answers]
        self.assertLess(reused[0], 5)
        self.assertGreaterEqual(min(reused[1:]), 52)
        with Server(lamina, [model]) as fresh:
            for i in (2, 1):
                self.assertEqual(self.chat(said(system, words(5, 5 + i)), fresh, **two)[2]["choices"], answers[i]["choices"])
        found = self.server.get("/metrics")[2].decode()
        counted = next(line for line in found.split("\n") if line.startswith('lamina_reused_tokens_total{model="llama"}'))
        self.assertGreaterEqual(int(counted.split()[1]), sum(reused))

    def test_tell_in_every_form_what_was_reused(self):
        messages = said(words(40, 11), words(5, 12))
        prompt = self.chat(messages)[2]["usage"]["prompt_tokens"]
        stream = self.chat(messages, stream=True, stream_options={"include_usage": True})[2].decode()
        last = json.loads(stream.split("\n\n")[-3].removeprefix("data: "))
        self.assertEqual(last["usage"]["prompt_tokens_details"], {"cached_tokens": prompt - 1})
        response = self.server.post("/v1/responses", {"model": "llama", "input": messages, "max_output_tokens": 6})[2]
        self.assertEqual(response["usage"]["input_tokens_details"], {"cached_tokens": prompt - 1})

    def test_that_are_too_long_are_refused_or_lose_their_oldest_turns(self):
        texts = [words(20, 21)] + [words(25, 22 + i) for i in range(7)]
        status, headers, body = self.chat(said(*texts))
        self.assertEqual((status, headers["Lamina-Messages-Left-Out"]), (400, None), body)
        status, headers, body = self.chat(said(*texts), truncation="auto")
        self.assertEqual((status, headers["Lamina-Messages-Left-Out"]), (200, "2"), body)
        fitting = said(texts[0], *texts[3:])
        self.assertEqual(body["choices"], self.chat(fitting)[2]["choices"])
        self.assertIsNone(self.chat(fitting, truncation="auto")[1]["Lamina-Messages-Left-Out"])
        # An answer may need more room, but never more than half of all; the system's message and the last turn stay.
        found = self.chat(said(*texts), truncation="auto", max_tokens=190)
        self.assertEqual((found[0], found[1]["Lamina-Messages-Left-Out"]), (200, "6"))
        self.assertEqual(self.chat(said(texts[0], words(190, 30), "w1", words(190, 31)), truncation="auto")[0], 400)
        self.assertEqual(self.chat(said(*texts), truncation="newest")[0], 400)

    def test_are_shortened_in_every_form(self):
        texts = [words(20, 21)] + [words(25, 22 + i) for i in range(7)]
        with Server(lamina, [model], "--truncation", "auto") as server:
            whole = self.chat(said(*texts), server)[2]["choices"][0]["message"]["content"]
            self.assertEqual(self.chat(said(*texts), server, truncation="disabled")[0], 400)
            stream = self.chat(said(*texts), server, stream=True)
            self.assertEqual(stream[1]["Lamina-Messages-Left-Out"], "2")
            status, headers, body = self.chat(said(*texts)[1:], server, path="/v1/messages", system=texts[0])
            self.assertEqual((headers["Lamina-Messages-Left-Out"], body["content"][0]["text"]), ("2", whole))
            for how, expected in (({}, 200), ({"truncation": "auto"}, 200), ({"truncation": "disabled"}, 400)):
                status, headers, body = server.post("/v1/responses", {"model": "llama", "input": said(*texts),
                                                                      "max_output_tokens": 6, **how})
                self.assertEqual(status, expected)
                if how and status == 200:
                    self.assertEqual(body["truncation"], "auto")

    def test_are_the_same_if_they_are_guessed_ahead(self):
        texts = [words(30, 7), words(9, 8)]
        expected = self.chat(said(*texts), max_tokens=60)[2]["choices"]
        with Server(lamina, [model], "--guess-ahead", "5") as server:
            self.assertEqual(self.chat(said(*texts), server, max_tokens=60)[2]["choices"], expected)

    def test_of_the_command_lose_their_oldest_turns_too(self):
        texts = [words(40, 40 + i) for i in range(5)]
        found = lamina_json(lamina, "chat", model, *texts, "--max-length", "6")
        self.assertEqual([each["content"] for each in found[::2]], texts) # what was said stays in the record
        last = [{"role": each["role"], "content": each["content"]} for each in found[-8:-1]] # all that fits
        self.assertEqual(self.chat(last)[2]["choices"][0]["message"]["content"], found[-1]["content"])


if __name__ == "__main__":
    unittest.main()
