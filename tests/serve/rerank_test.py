#!/usr/bin/env python3
"""Asks `lamina serve` to rank documents."""

import concurrent.futures
import pathlib
import sys
import tempfile
import unittest

from server import Server, lamina_json, repository, server_of, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
ranker = repository / "tests" / "architectures" / "sentences" / "ranker" # a CrossEncoder of sentence-transformers
relations = ranker.parent / "relations"                                  # with three classes
asked = ranker.parent / "asked"                                          # a decoder that says yes or no
fixed = repository / "tests" / "architectures" / "token_vectors" / "fixed" # a vector for each token, as of ColBERT
logits = with_words("bert_score", pathlib.Path(folder.name) / "logits", {"problem_type": "regression"})
query = "the quick fox"
documents = ["the dog ran to the tree", "a fox", "five dozen liquor jugs", "lazy dogs", "the cat sat on the mat"]


def ask(server, **more):
    return server.post("/v1/rerank", {"model": "ranker", "query": query, "documents": documents, **more})


def command_scores(model, query, documents):
    """What `lamina run --pairs` says of the query with each document."""
    pairs = [text for document in documents for text in (query, document)]
    return [each["labels"][0]["score"] for each in lamina_json(lamina, "run", model, "--pairs", *pairs)]


class Rerank(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [ranker, relations, logits, asked, fixed])
        cls.scores = command_scores(ranker, query, documents)
        cls.best = sorted(range(len(documents)), key=lambda i: -cls.scores[i])

    def test_scores_are_those_of_the_command_best_first(self):
        status, _, body = ask(self.server)
        self.assertEqual(status, 200)
        self.assertNotEqual(self.best, sorted(self.best))
        self.assertEqual(body["results"], [{"index": i, "relevance_score": self.scores[i]} for i in self.best])
        self.assertEqual((body["object"], body["model"]), ("list", "ranker"))
        self.assertEqual(body["usage"]["prompt_tokens"], body["usage"]["total_tokens"])
        self.assertGreater(body["usage"]["prompt_tokens"], 3 * len(documents))

    def test_the_best_may_be_enough_and_documents_come_back(self):
        body = ask(self.server, top_n=2, return_documents=True)[2]
        self.assertEqual([each["index"] for each in body["results"]], self.best[:2])
        self.assertEqual([each["document"] for each in body["results"]], [{"text": documents[i]} for i in self.best[:2]])
        self.assertEqual(len(ask(self.server, top_n=100)[2]["results"]), len(documents))
        objects = ask(self.server, documents=[{"text": each} for each in documents])[2]
        self.assertEqual(objects["results"], ask(self.server)[2]["results"])

    def test_other_models_that_rank_do_so_as_the_command(self):
        for model in (asked, fixed):
            status, _, body = ask(self.server, model=model.name)
            self.assertEqual(status, 200)
            scores = command_scores(model, query, documents)
            self.assertEqual([each["relevance_score"] for each in body["results"]], sorted(scores, reverse=True))

    def test_scores_may_come_in_the_order_of_the_texts(self):
        body = self.server.post("/v1/score", {"model": "ranker", "text_1": query, "text_2": documents})[2]
        self.assertEqual(body["data"], [{"index": i, "object": "score", "score": score} for i, score in enumerate(self.scores)])
        self.assertEqual(body["usage"], ask(self.server)[2]["usage"])
        one = self.server.post("/v1/score", {"model": "ranker", "text_1": query, "text_2": documents[1]})[2]
        self.assertEqual([each["score"] for each in one["data"]], [self.scores[1]])
        for more, words in [({"text_2": []}, "/text_2: expected at least one text"), ({"text_1": ["a"]}, "/text_1: expected a string"),
                            ({"model": "relations"}, "does not rank documents")]:
            status, _, body = self.server.post("/v1/score", {"model": "ranker", "text_1": "a", "text_2": ["b"], **more})
            self.assertEqual(status, 400)
            self.assertIn(words, body["error"]["message"])

    def test_ranks_come_as_text_embeddings_inference_has_them(self):
        asked = {"query": query, "texts": documents}
        several = self.server.post("/rerank", asked)[2]["error"]["message"]
        self.assertIn("several models rank documents", several)
        with Server(lamina, [ranker]) as server:
            status, _, found = server.post("/rerank", {**asked, "return_text": True})
            self.assertEqual(status, 200)
            self.assertEqual(found, [{"index": i, "score": self.scores[i], "text": documents[i]} for i in self.best])
            self.assertEqual(len(server.post("/rerank", asked)[2][0]), 2)
            status, _, body = server.post("/rerank", {**asked, "query": "fox " * 9000})
            self.assertEqual(status, 400)
            self.assertIn("/query: expected at most 32768 bytes, found 36000", body["error"]["message"])

    def test_documents_that_are_too_long_may_be_cut(self):
        long = ["a fox", "fox " * 200]
        for more in ({"truncate": True}, {"truncation": True}, {"truncate_prompt_tokens": -1}):
            status, _, body = ask(self.server, documents=long, **more)
            self.assertEqual(status, 200, body)
            scores = {each["index"]: each["relevance_score"] for each in body["results"]}
            self.assertAlmostEqual(scores[0], self.scores[1], delta=1e-6)
            same = ask(self.server, documents=["fox " * 300], **more)[2]["results"][0]["relevance_score"]
            self.assertAlmostEqual(scores[1], same, delta=1e-6)
        with Server(lamina, [ranker], "--truncate") as server:
            self.assertEqual(ask(server, documents=long)[0], 200)
            self.assertEqual(ask(server, documents=long, truncate=False)[0], 400)
            self.assertEqual(server.post("/rerank", {"query": query, "texts": long})[0], 200)
            self.assertEqual(server.post("/v1/score", {"model": "ranker", "text_1": query, "text_2": long})[0], 200)

    def test_scores_of_regression_are_logits(self):
        words = ["w3 w9 w4", "w7", "w8 w9"]
        body = self.server.post("/v1/rerank", {"model": "logits", "query": "w5 w6", "documents": words})[2]
        found = {each["index"]: each["relevance_score"] for each in body["results"]}
        wanted = command_scores(logits, "w5 w6", words)
        self.assertEqual([found[i] for i in range(3)], wanted)
        self.assertFalse(all(0 < each < 1 for each in wanted))

    def test_requests_at_the_same_time_get_what_each_gets_alone(self):
        queries = ["a fox", "lazy dogs", "the cat", "liquor"]
        alone = {each: ask(self.server, query=each)[2]["results"] for each in queries}
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            bad = [pool.submit(ask, self.server, query="fox " * 100) for _ in range(4)]
            for i, (status, _, body) in enumerate(pool.map(lambda i: ask(self.server, query=queries[i % 4]), range(40))):
                self.assertEqual(status, 200)
                for found, wanted in zip(sorted(body["results"], key=lambda each: each["index"]),
                                         sorted(alone[queries[i % 4]], key=lambda each: each["index"]), strict=True):
                    self.assertAlmostEqual(found["relevance_score"], wanted["relevance_score"], delta=1e-6)
        self.assertEqual({each.result()[0] for each in bad}, {400})

    def test_more_documents_than_a_piece_keep_their_places(self):
        many = [documents[i % 5] for i in range(83)]
        found = {each["index"]: each["relevance_score"] for each in ask(self.server, documents=many)[2]["results"]}
        for i in range(83):
            self.assertAlmostEqual(found[i], self.scores[i % 5], delta=1e-6)

    def test_what_cannot_be_ranked_is_refused_with_the_place(self):
        for more, status, words in [
                ({"model": "relations"}, 400, "relations does not rank documents"),
                ({"model": "ranger"}, 404, "did you mean 'ranker'"),
                ({"documents": []}, 400, "/documents: expected at least one text"),
                ({"documents": "a fox"}, 400, "/documents: expected a list of texts"),
                ({"documents": ["a fox", 5]}, 400, "/documents/1: expected a text"),
                ({"documents": [{"text": "a fox", "title": "b"}]}, 400, "/documents/0/title: unknown field"),
                ({"documents": ["a"] * 2049}, 400, "expected at most 2048 texts, found 2049"),
                ({"documents": ["a fox", "fox " * 50]}, 400, "/documents/1: "),
                ({"query": "fox " * 10000}, 400, "/query: expected at most 32768 bytes, found 40000"),
                ({"top_n": 0}, 400, "/top_n: "),
                ({"truncate": "yes"}, 400, "/truncate: expected"),
                ({"document": ["a"]}, 400, "unknown field; did you mean 'documents'")]:
            with self.subTest(words):
                found, _, body = ask(self.server, **more)
                self.assertEqual(found, status)
                self.assertIn(words, body["error"]["message"])

    def test_models_that_rank_say_so_and_metrics_count(self):
        listed = {each["id"]: each["endpoints"] for each in self.server.get("/v1/models")[2]["data"]}
        both = ["/v1/rerank", "/v1/score"]
        self.assertEqual(listed, {"ranker": both, "relations": [], "logits": both, "asked": both, "fixed": both})
        ask(self.server)
        text = self.server.get("/metrics")[2].decode()
        self.assertRegex(text, r'lamina_requests_total\{path="/v1/rerank",status="200"\} [1-9]')


if __name__ == "__main__":
    unittest.main()
