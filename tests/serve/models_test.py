#!/usr/bin/env python3
"""Several models of `lamina serve`: what they are called, where they run, and how they are loaded and unloaded."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server, server_of, talking, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
talker = talking(here / "talker")
other = talking(here / "other")
sentences = with_words("sentences", here / "sentences")
completion = {"prompt": "w7", "max_tokens": 3}
boss = {"Authorization": "Bearer boss"}


def status_of(server, model):
    """Of a model, as /v1/models has it."""
    status, _, found = server.get(f"/v1/models/{model}", Authorization="Bearer boss")
    assert status == 200, found
    return found["status"]


def wait_for(server, model, value):
    ended = time.monotonic() + 60
    while status_of(server, model)["value"] != value:
        assert time.monotonic() < ended, status_of(server, model)
        time.sleep(0.05)
    return status_of(server, model)


def gauge(server, text):
    return text in server.get("/metrics", Authorization="Bearer boss")[2].decode()


class Paths(unittest.TestCase):
    def test_are_no_words_of_messages_and_may_end_in_a_dot(self):
        (here / "e").symlink_to(talker)
        before = os.getcwd()
        os.chdir(here)
        try:
            server = Server(lamina, ["english=e", "talker/."])
        finally:
            os.chdir(before)
        with server:
            server.paths = [] # "e" is a part of every answer
            self.assertEqual([each["id"] for each in server.get("/v1/models")[2]["data"]], ["english", "talker"])
            found = server.post("/v1/embeddings", {"model": "talker", "input": "w7"})[2]["error"]["message"]
            self.assertNotIn("english", found)
            self.assertNotIn(str(here), found)
            found = server.post("/v1/completions", {**completion, "model": "english", "max_tokens": "x"})[2]["error"]
            self.assertEqual((found["param"], "english" in found["message"]), ("max_tokens", False))


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [talker, sentences], "--alias", "gpt-4o-mini=talker", "--alias", "second=talker",
                               "--device-of", "sentences=reference")

    def test_may_be_aliases(self):
        answers = [self.server.post("/v1/completions", {**completion, "model": name}) for name in ["talker", "gpt-4o-mini"]]
        self.assertEqual([each[0] for each in answers], [200, 200])
        self.assertEqual(answers[0][2]["choices"], answers[1][2]["choices"])
        self.assertEqual(answers[1][2]["model"], "gpt-4o-mini")
        self.assertTrue(gauge(self.server, 'lamina_generated_tokens_total{model="talker"} 6'))
        self.assertEqual(self.server.get("/v1/models/second")[2]["root"], "talker")
        self.assertEqual({slot["model"] for slot in self.server.get("/slots?model=second")[2]}, {"talker"})
        status, _, found = self.server.post("/v1/completions", {**completion, "model": "gpt-4o-mimi"})
        self.assertEqual(status, 404)
        self.assertIn("did you mean 'gpt-4o-mini'", found["error"]["message"])

    def test_are_listed(self):
        for path in ["/v1/models", "/models"]:
            found = {each["id"]: each for each in self.server.get(path)[2]["data"]}
            self.assertEqual(list(found), ["talker", "gpt-4o-mini", "second", "sentences"])
            self.assertEqual(found["talker"]["aliases"], ["gpt-4o-mini", "second"])
            self.assertEqual({each["status"]["value"] for each in found.values()}, {"loaded"})
            self.assertEqual(found["second"]["endpoints"], found["talker"]["endpoints"])
            for path_of_chat in ["/v1/chat/completions", "/v1/responses", "/v1/messages"]:
                self.assertIn(path_of_chat, found["talker"]["endpoints"])

    def test_models_may_have_devices_of_their_own(self):
        found = {each["name"]: each["device"] for each in self.server.get("/status")[2]["models"]}
        self.assertEqual(found, {"talker": "cpu", "sentences": "reference"})
        self.assertEqual(self.server.post("/v1/embeddings", {"model": "sentences", "input": "w3"})[0], 200)

    def test_that_are_wrong_are_refused(self):
        for options, why in [(["--alias", "talker=sentences"], "a model is called 'talker' already"),
                             (["--alias", "x"], "expected ALIAS=NAME, with the name of one of the 2 models; found 'x'"),
                             (["--alias", "x=talke"], "no model is called 'talke'; did you mean 'talker'?"),
                             (["--alias", "x=talker", "--alias", "x=sentences"], "a model is called 'x' already"),
                             (["--device-of", "nobody=cpu"], "no model is called 'nobody'"),
                             (["--request-log", here / "nowhere" / "log"], "cannot be written, as --request-log asks")]:
            done = subprocess.run([lamina, "serve", talker, sentences, *map(str, options), "--device", "cpu", "--port", "0"],
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)


class Loading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [talker, f"mine={other}"], "--admin-key", "boss", "--alias", "yours=mine")

    def ask(self, what, model, key="boss"):
        return self.server.post(f"/models/{what}", {"model": model}, **{"Authorization": f"Bearer {key}"} if key else {})

    def test_unloads_and_loads_again(self):
        before = self.server.post("/v1/completions", {**completion, "model": "yours"})[2]["choices"]
        self.assertEqual(self.ask("unload", "yours")[2], {"success": True})
        self.assertEqual(wait_for(self.server, "mine", "unloaded"), {"value": "unloaded"})
        self.assertTrue(gauge(self.server, 'lamina_model_state{model="mine",state="unloaded"} 1'))
        self.assertTrue(gauge(self.server, "lamina_models 1"))
        status, _, found = self.server.post("/v1/completions", {**completion, "model": "mine"})
        self.assertEqual(status, 503)
        self.assertIn("'mine' is not loaded", found["error"]["message"])
        self.assertEqual(self.server.get("/v2/models/mine.decode/ready")[0], 503)
        self.assertEqual(self.server.get("/v1/models/mine")[2]["endpoints"], [])
        self.assertEqual(self.server.post("/v1/completions", {**completion, "model": "talker"})[0], 200)
        self.assertEqual(self.ask("load", "mine")[0], 200)
        wait_for(self.server, "mine", "loaded")
        self.assertEqual(self.server.post("/v1/completions", {**completion, "model": "mine"})[2]["choices"], before)

    def test_answers_what_it_has_before_a_model_is_unloaded(self):
        body = {"model": "mine", "prompt": "w7", "max_tokens": 50, "ignore_eos": True, "n": 4, "temperature": 1}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(self.server.post, "/v1/completions", body) for _ in range(4)]
            while not gauge(self.server, "lamina_requests_inside 4"):
                time.sleep(0.01)
                if all(each.done() for each in asked):
                    break
            self.ask("unload", "mine")
            self.assertEqual({each.result()[0] for each in asked}, {200})
            self.assertEqual({each.result()[2]["usage"]["completion_tokens"] for each in asked}, {200})
        wait_for(self.server, "mine", "unloaded")
        self.ask("load", "mine")
        wait_for(self.server, "mine", "loaded")

    def test_that_fails_leaves_the_others(self):
        self.ask("unload", "mine")
        wait_for(self.server, "mine", "unloaded")
        shutil.move(other / "config.json", here / "away.json")
        self.ask("load", "mine")
        ended = time.monotonic() + 60
        while "failed" not in status_of(self.server, "mine") and time.monotonic() < ended:
            time.sleep(0.05)
        found = status_of(self.server, "mine")
        self.assertEqual((found["value"], found["failed"]), ("unloaded", True))
        self.assertNotIn(str(here), json.dumps(found))
        self.assertTrue(gauge(self.server, 'lamina_model_state{model="mine",state="failed"} 1'))
        self.assertEqual(self.server.post("/v1/completions", {**completion, "model": "talker"})[0], 200)
        shutil.move(here / "away.json", other / "config.json")
        self.ask("load", "mine")
        self.assertEqual(wait_for(self.server, "mine", "loaded"), {"value": "loaded"})

    def test_is_for_those_with_a_key_of_an_admin(self):
        for key, status in [("boss", 200), ("client", 401), (None, 401)]:
            self.assertEqual(self.ask("load", "talker", key)[0], status)
        self.assertEqual(self.ask("load", "nobody")[0], 404)
        self.assertEqual(self.server.get("/v1/models")[0], 200) # clients need none here
        with Server(lamina, [talker], "--api-key", "client", "--admin-key", "boss") as server:
            for key, status, ordinary in [("boss", 200, 200), ("client", 403, 200), ("third", 401, 401)]:
                header = {"Authorization": f"Bearer {key}"}
                self.assertEqual(server.post("/models/load", {"model": "talker"}, **header)[0], status)
                self.assertEqual(server.get("/v1/models", **header)[0], ordinary)
        with Server(lamina, [talker], "--api-key", "client") as server:
            status, _, found = server.post("/models/unload", {"model": "talker"}, Authorization="Bearer client")
            self.assertEqual(status, 403)
            self.assertIn("--admin-key-file", found["error"]["message"])


class OnDemand(unittest.TestCase):
    def test_loads_models_in_the_place_of_others(self):
        with Server(lamina, [talker, f"mine={other}", sentences], "--models-max", 2) as server:
            def states():
                return [each["status"]["value"] for each in server.get("/v1/models")[2]["data"]]

            self.assertEqual(states(), ["loaded", "loaded", "unloaded"])
            self.assertEqual(server.get("/props?model=sentences")[0], 503) # who only looks loads nothing
            self.assertEqual(server.post("/v1/completions", {**completion, "model": "talker"})[0], 200)
            self.assertEqual(server.post("/v1/embeddings", {"model": "sentences", "input": "w3"})[0], 200)
            self.assertEqual(states(), ["loaded", "unloaded", "loaded"])
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                asked = [pool.submit(server.post, "/v1/completions", {**completion, "model": name})
                         for name in ["mine", "talker"] * 3]
                self.assertEqual({each.result()[0] for each in asked}, {200})
            self.assertEqual(states(), ["loaded", "loaded", "unloaded"])
            shutil.move(sentences / "config.json", here / "away.json")
            status, _, found = server.post("/v1/embeddings", {"model": "sentences", "input": "w3"})
            shutil.move(here / "away.json", sentences / "config.json")
            self.assertEqual((status, found["error"]["param"]), (503, "model"))
            self.assertEqual(server.post("/v1/completions", {**completion, "model": "mine"})[0], 200)


    def test_leaves_the_others_if_a_model_cannot_be_loaded(self):
        broken = with_words("sentences", here / "broken")
        shutil.move(broken / "config.json", here / "whole.json")
        with Server(lamina, [talker, broken], "--models-max", 1, "--admin-key", "boss") as server:
            embedding = {"model": "broken", "input": "w3"}
            prompt = {"model": "talker", "prompt": " ".join(f"w{i}" for i in range(3, 40)), "max_tokens": 1}
            reused = lambda: server.post("/v1/completions", prompt)[2]["usage"]["prompt_tokens_details"]["cached_tokens"]
            self.assertEqual(reused(), 0)
            self.assertEqual(server.post("/v1/embeddings", embedding)[0], 503)
            self.assertEqual([status_of(server, name)["value"] for name in ["talker", "broken"]], ["loaded", "unloaded"])
            self.assertGreater(reused(), 0) # it has been there all the time
            shutil.move(here / "whole.json", broken / "config.json")
            self.assertEqual(server.post("/v1/embeddings", embedding)[0], 503) # it is not tried again at once
            self.assertEqual(server.post("/models/load", {"model": "broken"}, **boss)[0], 200) # but for an admin
            wait_for(server, "broken", "loaded")
            self.assertEqual(server.post("/v1/embeddings", embedding)[0], 200)

    def test_loads_again_what_was_unloaded_for_a_model_that_does_not_run(self):
        with Server(lamina, [sentences, talker], "--models-max", 1, "--cache", "q8_0") as server: # not of such narrow heads
            self.assertEqual(server.post("/v1/completions", {**completion, "model": "talker"})[0], 503)
            wait_for(server, "sentences", "loaded")
            self.assertEqual(server.post("/v1/embeddings", {"model": "sentences", "input": "w3"})[0], 200)

    def test_of_one_place_serves_whoever_waits(self):
        with Server(lamina, [talker, f"mine={other}"], "--models-max", 1) as server:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                asked = [pool.submit(server.post, "/v1/completions", {**completion, "model": name})
                         for name in ["mine", "talker"] * 4]
                self.assertEqual([each.result()[0] for each in asked], [200] * 8)
            inputs = {"inputs": []} # refused, but only when the model is there, in the place of the other
            for name in ("mine", "talker"):
                status, _, found = server.post(f"/v2/models/{name}.decode/infer" , inputs)
                if status == 404:
                    status, _, found = server.post(f"/v2/models/{name}/infer", inputs)
                self.assertEqual(status, 400, found)
                self.assertEqual(status_of(server, name)["value"], "loaded")


class Log(unittest.TestCase):
    def test_has_a_line_for_each_request(self):
        log, rotated = here / "requests", here / "requests.1"
        with Server(lamina, [talker], "--api-key", "secret", "--alias", "x", "--request-log", log) as server:
            key = {"Authorization": "Bearer secret"}
            body = {**completion, "model": "x", "prompt": "w7 w8", "n": 2, "temperature": 1, "ignore_eos": True}

            def lines(count, file=log):
                ended = time.monotonic() + 30
                while not file.exists() or file.read_text().count("\n") < count:
                    assert time.monotonic() < ended, file.read_text()
                    time.sleep(0.02)
                return [json.loads(line) for line in file.read_text().splitlines()]

            server.ask("POST", "/v1/completions", body, key, checked=False)
            server.ask("POST", "/v1/completions", {**body, "stream": True}, key, checked=False)
            server.ask("POST", "/v1/completions", {**body, "prompt": "w99"}, key, checked=False)
            first = lines(3)
            os.rename(log, rotated) # as logrotate does
            server.ask("GET", "/v1/models/w7-secret", headers=key, checked=False)
            server.ask("GET", "/health", checked=False)
            server.ask("GET", "/v1/models", checked=False)
            server.ask("GET", "/w7/w8", checked=False)
            second = lines(4)
            self.assertEqual(len(lines(3, rotated)), 3)
            for line in first[:2]:
                self.assertEqual({name: line[name] for name in ["client", "method", "path", "model", "status"]},
                                 {"client": "127.0.0.1", "method": "POST", "path": "/v1/completions", "model": "talker",
                                  "status": 200})
                self.assertEqual((line["prompt_tokens"], line["completion_tokens"]), (2, 6))
                self.assertLessEqual(line["first_token_seconds"], line["seconds"])
                self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertEqual({each["client"] for each in second}, {"127.0.0.1"})
            self.assertEqual([(each["path"], each["status"]) for each in second],
                             [("/v1/models/{model}", 404), ("/health", 200), ("/v1/models", 401), ("other", 404)])
            for text in ["secret", "w7", "w8"]:
                self.assertNotIn(text, log.read_text() + rotated.read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
