#!/usr/bin/env python3
"""What only /v1/completions has: prompts that are told, how likely their tokens are, and the best of several answers."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from server import lamina_json, repository, server_of, spelling, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "llama")
        cls.spelled = spelling(pathlib.Path(folder.name) / "spelling")
        long = talking(pathlib.Path(folder.name) / "long", {"max_position_embeddings": 100000})
        translator = pathlib.Path(folder.name) / "translator"
        for files in ["models", "sentencepiece"]:
            shutil.copytree(repository / "tests" / "architectures" / files / "m2m_100", translator, dirs_exist_ok=True)
        cls.server = server_of(cls, lamina, [cls.model, cls.spelled, long, repository / "models" / "g2p", translator])

    def complete(self, prompt, **more):
        return self.server.post("/v1/completions", {"model": "llama", "prompt": prompt, "max_tokens": 6, **more})

    def choices(self, prompt, **more):
        status, _, body = self.complete(prompt, **more)
        self.assertEqual(status, 200, body)
        return body["choices"]

    def events(self, prompt, **more):
        status, _, text = self.complete(prompt, stream=True, **more)
        self.assertEqual(status, 200, text)
        return [json.loads(line.removeprefix("data: ")) for line in text.decode().split("\n\n")[:-2]]

    def test_begin_with_their_prompts(self):
        prompts = ["w3 w9", "w7"]
        plain = self.choices(prompts)
        told = self.choices(prompts, echo=True)
        self.assertEqual([each["text"] for each in told],
                         [prompt + each["text"] for prompt, each in zip(prompts, plain)])
        self.assertIsNone(told[0]["logprobs"])
        ids = [self.server.post("/tokenize", {"model": "llama", "prompt": each})[2]["tokens"] for each in prompts]
        self.assertEqual([each["text"].split() for each in self.choices(ids, echo=True)],
                         [each["text"].split() for each in told])
        for text in ["w3 w9", "w7"]:
            events = self.events(text, echo=True, n=2, temperature=1, seed=4)
            whole = self.choices(text, echo=True, n=2, temperature=1, seed=4)
            for i in range(2):
                self.assertEqual("".join(c["text"] for each in events for c in each["choices"] if c["index"] == i),
                                 whole[i]["text"])

    def test_translate_between_languages(self):
        def translated(**more):
            return self.complete("die katze sitzt dort", **{"model": "translator", "logprobs": 0} | more)

        scores = set()
        for source in ["de", "en"]:
            for target in ["en", "zh"]:
                status, _, body = translated(source_language=source, language=target)
                self.assertEqual(status, 200, body)
                scores.add(sum(body["choices"][0]["logprobs"]["token_logprobs"]))
        self.assertEqual(len(scores), 4)
        for model, field, value, what in [
                ("translator", "language", "fr", "'fr' is not supported by the model; supported: cs, de, en"),
                ("translator", "source_language", "fr", "/source_language: 'fr' is not"),
                ("llama", "language", "en", "/language: llama has no such setting")]:
            status, _, body = translated(model=model, **{field: value})
            self.assertEqual((status, body["error"]["param"]), (400, field))
            self.assertIn(what, body["error"]["message"])

    def test_score_prompts(self):
        """Each token as if it were an answer to those before it."""
        text = " ".join(f"w{3 + i * i % 40}" for i in range(40))
        ids = self.server.post("/tokenize", {"model": "llama", "prompt": text})[2]["tokens"]
        for prompt in [text, ids]:
            told = self.choices(prompt, echo=True, logprobs=2, max_tokens=1)[0]["logprobs"]
            self.assertEqual({len(told[key]) for key in told}, {len(ids) + 1})
            self.assertEqual([told["token_logprobs"][0], told["top_logprobs"][0]], [None, None])
            for i in range(1, len(ids)):
                found = self.choices(ids[:i], max_tokens=1, logprobs=2, logit_bias={str(ids[i]): 100})[0]["logprobs"]
                self.assertEqual(told["tokens"][i], found["tokens"][0])
                self.assertAlmostEqual(told["token_logprobs"][i], found["token_logprobs"][0], 4)
                self.assertEqual(list(told["top_logprobs"][i]), list(found["top_logprobs"][0]))
        for offset, token in zip(told["text_offset"][1:], told["tokens"][1:]):
            self.assertEqual((text + " ")[offset:offset + len(token)].strip(), token.strip() if offset < len(text) else "")
        whole = self.choices(text, echo=True, logprobs=2, max_tokens=0)
        self.assertEqual([whole[0]["text"], whole[0]["finish_reason"]], [text, "length"])
        for key in told:
            self.assertEqual(whole[0]["logprobs"][key], told[key][:-1])
        usage = self.complete(text, echo=True, logprobs=2, max_tokens=0)[2]["usage"]
        self.assertEqual([usage["prompt_tokens"], usage["completion_tokens"]], [len(ids), 0])
        parts = [each["choices"][0] for each in self.events(text, echo=True, logprobs=2, max_tokens=0)]
        self.assertEqual("".join(each["text"] for each in parts), text)
        streamed = [each for part in parts for each in (part["logprobs"] or {"tokens": []})["tokens"]]
        self.assertEqual(streamed, whole[0]["logprobs"]["tokens"])

    def test_score_prompts_as_evaluation_harnesses_ask(self):
        """They sum the log probabilities of what follows a context, and look whether all of it is greedy."""
        context = "w5 w7"
        text = self.choices(context, max_tokens=3)[0]["text"]
        ids = self.server.post("/tokenize", {"model": "llama", "prompt": context + text})[2]["tokens"]
        asked = {"max_tokens": 1, "logprobs": 1, "echo": True, "seed": 1234, "temperature": 0}
        greedy, other = (each["logprobs"] for each in self.choices([ids, ids[:-1] + [ids[-1] ^ 1]], **asked))
        likeliest = [max(each.values()) for each in greedy["top_logprobs"][2:-1]]
        self.assertEqual(greedy["token_logprobs"][2:-1], likeliest)
        self.assertLess(other["token_logprobs"][-2], likeliest[-1])
        wanted = lamina_json(lamina, "run", self.model, context, "--max-length", "3")[0]["hypotheses"][0]
        self.assertAlmostEqual(sum(likeliest), wanted["log_probability"], 3)

    def test_score_prompts_beside_others(self):
        """A prompt that is scored is read anew, and what others have in the caches stays what it is."""
        prompts = [" ".join(f"w{3 + (i + k) % 40}" for i in range(30)) for k in range(12)]
        alone = [self.choices(each, echo=True, logprobs=0, max_tokens=0)[0]["logprobs"] for each in prompts]
        answers = [self.choices(each)[0]["text"] for each in prompts]
        together = self.choices(prompts, echo=True, logprobs=0)
        self.assertEqual([each["text"] for each in together], [a + b for a, b in zip(prompts, answers)])
        for each, expected in zip(together, alone):
            for a, b in zip(each["logprobs"]["token_logprobs"][1:], expected["token_logprobs"][1:]):
                self.assertAlmostEqual(a, b, 4)

    def test_are_the_best_of_several(self):
        asked = {"temperature": 1.2, "seed": 9, "logprobs": 0, "max_tokens": 5, "model": "spelling"}
        all_of_them = self.choices(["who?", "a"], n=6, **asked)
        best = self.choices(["who?", "a"], n=2, best_of=6, **asked)
        mean = lambda choice: sum(choice["logprobs"]["token_logprobs"]) / len(choice["logprobs"]["token_logprobs"])
        expected = [each["text"] for first in (0, 6)
                    for each in sorted(all_of_them[first:first + 6], key=mean, reverse=True)[:2]]
        self.assertEqual([each["text"] for each in best], expected)
        self.assertEqual([each["index"] for each in best], [0, 1, 2, 3])
        self.assertNotEqual(expected, [all_of_them[i]["text"] for i in (0, 1, 6, 7)]) # not just the first ones
        usage = self.complete("who?", best_of=6, **asked)[2]["usage"]
        self.assertEqual(usage["completion_tokens"], 30) # all of them were written

    def test_that_make_no_sense_are_refused(self):
        for more, words, field in [
                ({"max_tokens": 0}, "/max_tokens: expected", "max_tokens"),
                ({"best_of": 1, "n": 2, "temperature": 1}, "/best_of: expected at least as many as \"n\"", "best_of"),
                ({"best_of": 2, "temperature": 1, "stream": True}, "/best_of: cannot be used with", "best_of"),
                ({"best_of": 2}, "/best_of: has no effect", "best_of"),
                ({"best_of": 129}, "/best_of: expected", "best_of"),
                ({"model": "g2p", "prompt": "hello", "echo": True}, "/echo: g2p translates", "echo"),
                ({"echo": "yes"}, "/echo: expected", "echo")]:
            status, _, body = self.complete("w3", **more) if "prompt" not in more else \
                self.server.post("/v1/completions", more)
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])
            self.assertEqual(body["error"]["param"], field)
        status, _, body = self.complete("w3 " * 4000, model="long", echo=True, logprobs=20, n=100, temperature=1)
        self.assertEqual([status, "too much memory" in body["error"]["message"]], [400, True])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
