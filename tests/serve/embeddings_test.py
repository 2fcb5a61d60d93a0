#!/usr/bin/env python3
"""Asks `lamina serve` for embeddings."""

import base64
import concurrent.futures
import pathlib
import struct
import sys
import tempfile
import unittest

from server import Server, lamina_json, repository, server_of, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
sentences = with_words("sentences", pathlib.Path(folder.name) / "sentences")
g2p = repository / "models" / "g2p"
texts = ["w3 w9 w4", "w7", "w8 w9 w10 w11", "w3", "w5 w6 w7 w8 w9 w10 w11"]


def embedding(server, text, **more):
    return server.post("/v1/embeddings", {"model": "sentences", "input": text, **more})


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences, g2p])

    def test_are_those_of_the_command(self):
        wanted = [each["embedding"] for each in lamina_json(lamina, "run", sentences, *texts)]
        status, _, body = embedding(self.server, texts)
        self.assertEqual(status, 200)
        self.assertEqual([each["embedding"] for each in body["data"]], wanted)
        self.assertEqual([each["index"] for each in body["data"]], list(range(len(texts))))
        self.assertGreater(body["usage"]["prompt_tokens"], len(texts))

    def test_of_many_clients_at_once_are_those_of_each_alone(self):
        alone = {text: embedding(self.server, text)[2]["data"] for text in texts}
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for text, (status, _, body) in pool.map(lambda i: (texts[i % 5], embedding(self.server, texts[i % 5])),
                                                    range(80)):
                self.assertEqual(status, 200)
                for a, b in zip(body["data"][0]["embedding"], alone[text][0]["embedding"], strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-6) # larger matrices are summed in another order

    def test_of_long_texts_are_means_of_their_windows(self):
        long = " ".join(f"w{3 + i * i % 40}" for i in range(100))
        asked = {"model": "sentences", "prompt": long, "add_special_tokens": False}
        tokens = self.server.post("/tokenize", asked)[2]
        most = tokens["max_model_len"] - 2 # w1 and w2 are around each
        parts = [tokens["tokens"][at:at + most] for at in range(0, 100, most)]
        self.assertGreater(len(parts), 2)
        self.assertLess(len(parts[-1]), most)
        windows = [[1, *part, 2] for part in parts]
        vectors = [each["embedding"] for each in embedding(self.server, windows)[2]["data"]]
        mean = [sum(len(part) * vector[k] for part, vector in zip(parts, vectors)) for k in range(len(vectors[0]))]
        length = sum(each * each for each in mean) ** 0.5
        status, _, body = embedding(self.server, ["w5 w7", long, "w3"], windows=True)
        self.assertEqual(status, 200, body)
        plain = [each["embedding"] for each in embedding(self.server, ["w5 w7", "w3"])[2]["data"]]
        for found, expected in zip((each["embedding"] for each in body["data"]),
                                   [plain[0], [each / length for each in mean], plain[1]], strict=True):
            for a, b in zip(found, expected, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-5)
        self.assertEqual(body["usage"]["prompt_tokens"], 4 + sum(map(len, windows)) + 3)
        self.assertEqual(len(embedding(self.server, long, windows=True, dimensions=4)[2]["data"][0]["embedding"]), 4)
        for more, words in [({"truncate": True}, "/windows: cannot be used with"), ({"windows": 1}, "/windows: expected"),
                            ({"input": [3, 4]}, "/windows: expected texts")]:
            status, _, body = embedding(self.server, long, **{"windows": True, **more})
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])
        self.assertEqual(embedding(self.server, long)[0], 400)

    def test_come_as_base64(self):
        numbers = embedding(self.server, "w5 w7")[2]["data"][0]["embedding"]
        coded = embedding(self.server, "w5 w7", encoding_format="base64")[2]["data"][0]["embedding"]
        bytes_ = base64.b64decode(coded)
        self.assertEqual(list(struct.unpack(f"<{len(numbers)}f", bytes_)), numbers)

    def test_come_as_text_embeddings_inference_has_them(self):
        wanted = [each["embedding"] for each in embedding(self.server, ["w5 w7", "w3"])[2]["data"]]
        for more in [{}, {"normalize": False}]: # they have length 1
            status, _, found = self.server.post("/embed", {"inputs": ["w5 w7", "w3"], **more})
            self.assertEqual(status, 200)
            for a, b in zip(found, wanted, strict=True):
                for x, y in zip(a, b, strict=True):
                    self.assertAlmostEqual(x, y, delta=1e-6)
        self.assertEqual(len(self.server.post("/embed", {"inputs": "w3"})[2]), 1)
        for body, words in [({"inputs": []}, "/inputs: expected at least one text"), ({"input": "a"}, "did you mean 'inputs'"),
                            ({"inputs": "w3 " * 5000}, "/inputs: ")]:
            status, _, found = self.server.post("/embed", body)
            self.assertEqual(status, 400)
            self.assertIn(words, found["error"]["message"])
        self.assertIn("no model here can rank", self.server.post("/rerank", {"query": "a", "texts": ["b"]})[2]["error"]["message"])

    def test_of_token_ids_are_those_of_their_texts(self):
        ids = [self.server.post("/tokenize", {"model": "sentences", "prompt": text})[2]["tokens"] for text in texts]
        wanted = embedding(self.server, texts)[2]
        found = embedding(self.server, ids)[2]
        self.assertEqual(found["usage"], wanted["usage"])
        for a, b in zip(found["data"], wanted["data"], strict=True):
            self.assertEqual(a["index"], b["index"])
            for x, y in zip(a["embedding"], b["embedding"], strict=True):
                self.assertAlmostEqual(x, y, delta=1e-6)
        one = embedding(self.server, ids[1])[2]["data"]
        self.assertEqual(len(one), 1)
        for x, y in zip(one[0]["embedding"], wanted["data"][1]["embedding"], strict=True):
            self.assertAlmostEqual(x, y, delta=1e-6)
        with concurrent.futures.ThreadPoolExecutor(8) as pool: # in one piece with texts
            mixed = list(pool.map(lambda i: embedding(self.server, ids if i % 2 else texts)[2]["data"], range(16)))
        for each in mixed:
            for a, b in zip(each, wanted["data"], strict=True):
                for x, y in zip(a["embedding"], b["embedding"], strict=True):
                    self.assertAlmostEqual(x, y, delta=1e-6)

    def test_of_texts_that_are_too_long_are_of_their_beginnings(self):
        longest = self.server.post("/tokenize", {"model": "sentences", "prompt": ""})[2]["max_model_len"]
        fits, long = "w3 w9 " * (longest // 2 - 1), "w3 w9 " * (longest // 2 - 1) + "w7 w8 " * 50
        self.assertEqual(embedding(self.server, long)[0], 400)
        self.assertEqual(embedding(self.server, long, truncate=False)[0], 400)
        wanted = embedding(self.server, fits)[2]
        ids = self.server.post("/tokenize", {"model": "sentences", "prompt": fits})[2]["tokens"]
        for text, more in [(long, {"truncate": True}), (long, {"truncate_prompt_tokens": -1}), (fits, {"truncate": True}),
                           (ids + [7, 8, 7], {"truncate": True})]:
            status, _, found = embedding(self.server, text, **more)
            self.assertEqual(status, 200, found)
            self.assertEqual(found["usage"], {"prompt_tokens": longest, "total_tokens": longest})
            for x, y in zip(found["data"][0]["embedding"], wanted["data"][0]["embedding"], strict=True):
                self.assertAlmostEqual(x, y, delta=1e-6)
        tei = self.server.post("/embed", {"inputs": long, "truncate": True})[2][0]
        for x, y in zip(tei, wanted["data"][0]["embedding"], strict=True):
            self.assertAlmostEqual(x, y, delta=1e-6)
        with Server(lamina, [sentences], "--truncate") as server:
            self.assertEqual(embedding(server, long)[2]["usage"]["prompt_tokens"], longest)
            self.assertEqual(embedding(server, long, truncate=False)[0], 400)
            self.assertEqual(server.post("/embed", {"inputs": long})[0], 200)

    def test_may_be_shorter(self):
        whole = embedding(self.server, ["w5 w7", "w3"])[2]["data"]
        self.assertAlmostEqual(sum(v * v for v in whole[0]["embedding"]), 1, delta=1e-5)
        for width in [1, 5, len(whole[0]["embedding"])]:
            short = embedding(self.server, ["w5 w7", "w3"], dimensions=width)[2]["data"]
            for long, found in zip(whole, short, strict=True):
                first = long["embedding"][:width]
                length = sum(v * v for v in first) ** 0.5
                for v, wanted in zip(found["embedding"], first, strict=True):
                    self.assertAlmostEqual(v, wanted / length, delta=1e-6)

    def test_of_what_the_model_cannot_take_are_refused_with_the_place(self):
        for more, status, words in [({"dimensions": 5000}, 400, "/dimensions: expected at most"),
                                    ({"model": "sentence"}, 404, "did you mean 'sentences'"),
                                    ({"model": "g2p"}, 400, "does not turn texts into vectors"),
                                    ({"input": ["w3", "w3 " * 5000]}, 400, "/input/1"),
                                    ({"input": "w3 " * 5000}, 400, 'or have it cut ("truncate": true)'),
                                    ({"input": [3, 53]}, 400, "/input/1: expected an id below 53, found 53"),
                                    ({"input": [[3], [3, 99]]}, 400, "/input/1/1: expected an id below 53, found 99"),
                                    ({"input": [[3], []]}, 400, "/input/1: expected at least one token"),
                                    ({"input": [3, -1]}, 400, "/input/1: expected a whole number from 0"),
                                    ({"input": [[3], "w3"]}, 400, "/input/1: expected a list"),
                                    ({"input": [3] * 5000}, 400, "/input: 5000 tokens; expected at most"),
                                    ({"truncate_prompt_tokens": 5}, 400, "/truncate_prompt_tokens: expected -1"),
                                    ({"input": 5}, 400, "request: /input: expected a text"),
                                    ({"inputs": "a"}, 400, "unknown field; did you mean 'input'")]:
            with self.subTest(words):
                found, _, body = self.server.post("/v1/embeddings", {"model": "sentences", "input": "w3", **more})
                self.assertEqual(found, status)
                self.assertIn(words, body["error"]["message"])

    def test_of_one_request_do_not_fail_for_another(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            bad = [pool.submit(embedding, self.server, "w3 " * 5000) for _ in range(8)]
            good = [pool.submit(embedding, self.server, "w5 w7") for _ in range(8)]
        self.assertEqual({each.result()[0] for each in bad}, {400})
        self.assertEqual({each.result()[0] for each in good}, {200})

    def test_models_are_listed(self):
        _, _, body = self.server.get("/v1/models")
        self.assertEqual([each["id"] for each in body["data"]], ["sentences", "g2p"])
        self.assertEqual([each["endpoints"] for each in body["data"]], [["/v1/embeddings"], ["/v1/completions"]])
        self.assertEqual(self.server.get("/v1/models/g2p")[2]["object"], "model")
        self.assertEqual(self.server.get("/v1/models/g2q")[0], 404)

    def test_metrics_count(self):
        embedding(self.server, "w5 w7")
        text = self.server.get("/metrics")[2].decode()
        line = next(line for line in text.splitlines()
                    if line.startswith('lamina_requests_total{path="/v1/embeddings",status="200"}'))
        self.assertGreaterEqual(int(line.split()[-1]), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
