#!/usr/bin/env python3
"""Asks `lamina serve` for classes of texts, as Text Embeddings Inference has them."""

import concurrent.futures
import math
import pathlib
import sys
import tempfile
import unittest

from server import Server, lamina_json, repository, server_of, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
relations = repository / "tests" / "architectures" / "sentences" / "relations" # three classes of two texts
words = with_words("bert_texts", pathlib.Path(folder.name) / "words")
texts = ["w3 w9 w4", "w7", "w8 w9 w10 w11"]


def labels(model, *arguments):
    """What the command says, as the server says it."""
    return [[{"score": each["score"], "label": each["label"]} for each in text["labels"]]
            for text in lamina_json(lamina, "run", model, *arguments)]


class Predict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [words])
        cls.wanted = labels(words, *texts)

    def predict(self, inputs, **more):
        return self.server.post("/predict", {"inputs": inputs, **more})

    def assert_near(self, found, wanted):
        self.assertEqual([each["label"] for each in found], [each["label"] for each in wanted])
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a["score"], b["score"], delta=1e-6)

    def test_gives_classes_of_one_text_or_of_several(self):
        status, _, found = self.predict(texts[0])
        self.assertEqual(status, 200, found)
        self.assert_near(found, self.wanted[0])
        self.assert_near(self.predict([texts[0]])[2], self.wanted[0])
        found = self.predict([[text] for text in texts])[2]
        self.assertEqual(len(found), 3)
        for a, b in zip(found, self.wanted):
            self.assert_near(a, b)
        scores = [each["score"] for each in found[0]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertAlmostEqual(sum(scores), 1, delta=1e-6)

    def test_gives_scores_from_before_the_softmax(self):
        raw = self.predict(texts[0], raw_scores=True)[2]
        self.assertEqual([each["label"] for each in raw], [each["label"] for each in self.wanted[0]])
        total = sum(math.exp(each["score"]) for each in raw)
        self.assertNotAlmostEqual(total, 1, delta=1e-3)
        for a, b in zip(raw, self.wanted[0]):
            self.assertAlmostEqual(math.exp(a["score"]) / total, b["score"], delta=1e-6)

    def test_reads_two_texts_together_also_beside_others(self):
        first, second = "the quick fox", "a fox"
        pair, = labels(relations, "--pairs", first, second)
        alone, = labels(relations, first)
        with Server(lamina, [relations]) as server:
            ask = lambda inputs, **more: server.post("/predict", {"inputs": inputs, **more})[2]
            self.assert_near(ask([first, second]), pair)
            found = ask([[first, second], [first], [first, second]])
            for a, b in zip(found, [pair, alone, pair], strict=True):
                self.assert_near(a, b)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                many = list(pool.map(lambda i: ask([[first], [first, second]], raw_scores=i % 2 == 1), range(16)))
            for each in many[::2]:
                self.assert_near(each[0], alone)
                self.assert_near(each[1], pair)
            for each in many[1::2]:
                self.assert_near(each[0], ask(first, raw_scores=True))

    def test_cuts_texts_only_if_it_is_asked_to(self):
        long = "w3 w9 " * 1000
        self.assertEqual(self.predict(long)[0], 400)
        cut = self.predict(long, truncate=True)[2]
        self.assert_near(cut, self.predict("w3 w9 " * 800, truncate=True)[2])
        with Server(lamina, [words], "--truncate") as server:
            self.assert_near(server.post("/predict", {"inputs": long})[2], cut)

    def test_what_it_cannot_take_is_refused_with_the_place(self):
        for inputs, more, said in [
                ([], {}, "/inputs: expected a text, a list of two"), (5, {}, "/inputs: expected a text, a list of two"),
                (["a", "b", "c"], {}, "/inputs: expected a list of one text or two"),
                ([["w3"], []], {}, "/inputs/1: expected a list of one text or two"), ([["w3"], "w3"], {}, "/inputs/1: "),
                ([["w3"], ["w3 " * 2000]], {}, "/inputs/1: 2002 tokens"), ([["w3"]] * 2049, {}, "at most 2048 texts"),
                ("w3", {"raw_score": True}, "did you mean 'raw_scores'"),
                ("w3", {"truncation_direction": "Left"}, "/truncation_direction: not supported")]:
            with self.subTest(said):
                status, _, body = self.predict(inputs, **more)
                self.assertEqual(status, 400)
                self.assertIn(said, body["error"]["message"])
        with Server(lamina, [words, relations]) as server:
            self.assertIn("several models tell classes", server.post("/predict", {"inputs": "w3"})[2]["error"]["message"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
