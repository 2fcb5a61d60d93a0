#!/usr/bin/env python3
"""Asks `lamina serve` for tokens of texts, texts of tokens, and prompts of conversations."""

import pathlib
import sys
import tempfile
import unittest

from server import Server, repository, server_of, spelling, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
sentences = with_words("sentences", here / "sentences")
speller = spelling(here / "speller")
g2p = repository / "models" / "g2p"
hello = [{"role": "user", "content": "hi"}]
prompt = "user: hi</s>\nassistant: "
tool = {"type": "function", "function": {"name": "look"}}


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences, speller, g2p])

    def answer(self, path, **body):
        status, _, found = self.server.post(path, body)
        self.assertEqual(status, 200, found)
        return found

    def test_come_as_vllm_has_them(self):
        found = self.answer("/tokenize", model="sentences", prompt="w3 w9 w4")
        self.assertEqual(found["tokens"], [1, 3, 9, 4, 2])
        self.assertEqual(found["count"], 5)
        self.assertNotIn("token_strs", found)
        bare = self.answer("/tokenize", model="sentences", prompt="w3 w9 w4", add_special_tokens=False,
                           return_token_strs=True)
        self.assertEqual((bare["tokens"], bare["token_strs"]), ([3, 9, 4], ["w3", "w9", "w4"]))

    def test_come_as_llama_cpp_has_them(self):
        found = self.answer("/tokenize", model="sentences", content="w3 w9")
        self.assertEqual((found["tokens"], found["count"]), ([3, 9], 2))
        self.assertEqual(self.answer("/tokenize", model="sentences", content="w3", add_special=True)["tokens"], [1, 3, 2])
        with_pieces = self.answer("/tokenize", model="speller", content='a"<', with_pieces=True)
        self.assertEqual([each["piece"] for each in with_pieces["tokens"]], ["a", '"', "<"])
        ids = self.answer("/tokenize", model="speller", content='a"<')["tokens"]
        self.assertEqual([each["id"] for each in with_pieces["tokens"]], ids)

    def test_of_a_conversation_are_those_of_its_prompt(self):
        ids = self.answer("/tokenize", model="speller", messages=hello)["tokens"]
        self.assertEqual(ids, self.answer("/tokenize", model="speller", content=prompt)["tokens"])
        used = self.answer("/v1/chat/completions", model="speller", messages=hello, max_tokens=1)["usage"]
        self.assertEqual(len(ids), used["prompt_tokens"])
        open_ended = self.answer("/tokenize", model="speller", messages=hello, add_generation_prompt=False)["tokens"]
        self.assertEqual(len(open_ended), len(ids) - len("assistant: "))

    def test_become_the_text_again(self):
        ids = self.answer("/tokenize", model="speller", messages=hello)["tokens"]
        found = self.answer("/detokenize", model="speller", tokens=ids)
        self.assertEqual(found, {"prompt": prompt, "content": prompt})
        self.assertEqual(self.answer("/detokenize", model="speller", tokens=[])["prompt"], "")
        self.assertEqual(self.answer("/detokenize", model="sentences", tokens=[1, 3, 2])["content"], "w1 w3 w2")

    def test_have_a_limit_that_the_server_tells(self):
        longest = self.answer("/tokenize", model="speller", prompt="")["max_model_len"]
        fits = {"model": "speller", "prompt": "a" * (longest - 1), "max_tokens": 1, "ignore_eos": True}
        self.assertEqual(self.server.post("/v1/completions", fits)[0], 200)
        self.assertEqual(self.server.post("/v1/completions", fits | {"prompt": "a" * (longest + 1)})[0], 400)
        longest = self.answer("/tokenize", model="sentences", prompt="")["max_model_len"]
        for more, status in [(0, 200), (1, 400)]:
            text = "w3 " * (longest - 2 + more)
            self.assertEqual(self.server.post("/v1/embeddings", {"model": "sentences", "input": text})[0], status)

    def test_of_long_texts_are_all_there(self):
        text = "a" * 500000
        found = self.answer("/tokenize", model="speller", content=text, with_pieces=True, return_token_strs=True)
        self.assertEqual(found["count"], len(text))
        self.assertEqual({each["piece"] for each in found["tokens"]} | set(found["token_strs"]), {"a"})
        ids = [each["id"] for each in found["tokens"]]
        self.assertEqual(self.answer("/detokenize", model="speller", tokens=ids)["prompt"], text)

    def test_of_the_only_model_need_no_name(self):
        with Server(lamina, [speller]) as server:
            self.assertEqual(server.post("/tokenize", {"content": "hi"})[2]["count"], 2)
            self.assertEqual(server.post("/detokenize", {"tokens": []})[2]["content"], "")
            self.assertEqual(server.post("/apply-template", {"messages": hello})[2], {"prompt": prompt})

    def test_what_makes_no_sense_is_refused_with_the_place(self):
        for path, body, words in [
                ("/tokenize", {"prompt": "a"}, 'several models here: expected "model", one of sentences, speller, g2p'),
                ("/tokenize", {"model": "speller"}, 'expected "prompt" or "content"'),
                ("/tokenize", {"model": "speller", "prompt": "a", "content": "a"}, '/content: expected it alone'),
                ("/tokenize", {"model": "speller", "prompt": ["a"]}, "/prompt: expected a string"),
                ("/tokenize", {"model": "speller", "prompts": "a"}, "did you mean 'prompt'"),
                ("/tokenize", {"model": "g2p", "prompt": "a7"}, "request: /prompt: 'a7': column 2"),
                ("/tokenize", {"model": "sentences", "messages": hello}, "chat template"),
                ("/tokenize", {"model": "speller", "content": "a", "parse_special": False}, "/parse_special: not supported"),
                ("/detokenize", {"model": "sentences", "tokens": [3, 9, 53]}, "/tokens/2: expected an id below 53"),
                ("/detokenize", {"model": "sentences", "tokens": [3, -1]}, "/tokens/1: "),
                ("/detokenize", {"model": "sentences", "tokens": [3, "w3"]}, "/tokens/1: expected"),
                ("/detokenize", {"model": "sentences", "tokens": [3] * 1048577}, "expected at most 1048576 tokens"),
                ("/apply-template", {"model": "speller", "messages": []}, "/messages: expected at least one"),
                ("/apply-template", {"model": "sentences", "messages": hello}, "chat template")]:
            with self.subTest(words):
                status, _, found = self.server.post(path, body)
                self.assertEqual(status, 400)
                self.assertIn(words, found["error"]["message"])
        self.assertEqual(self.server.post("/tokenize", {"model": "spell", "prompt": "a"})[0], 404)
        self.assertEqual(self.server.post("/tokenize", {"model": "speller", "content": "a" * (5 << 20)})[0], 413)


class Prompts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [speller])

    def prompt(self, **more):
        status, _, found = self.server.post("/apply-template", {"messages": hello, **more})
        self.assertEqual(status, 200, found)
        return found["prompt"]

    def test_are_what_the_template_makes_of_conversations(self):
        self.assertEqual(self.prompt(), prompt)
        self.assertEqual(self.prompt(add_generation_prompt=False), "user: hi</s>\n")
        self.assertEqual(self.prompt(chat_template_kwargs={"think": True}), prompt + "<think>\n")
        self.assertTrue(self.prompt(tools=[tool]).startswith('tools: [{"type": "function"'))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
