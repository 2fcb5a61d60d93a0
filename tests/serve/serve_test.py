#!/usr/bin/env python3
"""Asks `lamina serve` in every way that a client may, and in many that it should not."""

import base64
import concurrent.futures
import http.client
import json
import math
import pathlib
import shutil
import socket
import struct
import sys
import tempfile
import time
import unittest

from server import Server, lamina_json, repository, talking, with_words

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
        cls.server = Server(lamina, [sentences, g2p])

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

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

    def test_come_as_base64(self):
        numbers = embedding(self.server, "w5 w7")[2]["data"][0]["embedding"]
        coded = embedding(self.server, "w5 w7", encoding_format="base64")[2]["data"][0]["embedding"]
        bytes_ = base64.b64decode(coded)
        self.assertEqual(list(struct.unpack(f"<{len(numbers)}f", bytes_)), numbers)

    def test_of_what_the_model_cannot_take_are_refused_with_the_place(self):
        for more, status, words in [({"dimensions": 5}, 400, "/dimensions: expected"),
                                    ({"model": "sentence"}, 404, "did you mean 'sentences'"),
                                    ({"model": "g2p"}, 400, "does not turn texts into vectors"),
                                    ({"input": ["w3", "w3 " * 5000]}, 400, "/input/1"),
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

    # ---- The Open Inference Protocol ----

    def test_v2_says_what_there_is(self):
        self.assertEqual(self.server.get("/v2")[2]["extensions"], ["binary_tensor_data"])
        self.assertEqual(self.server.get("/v2/health/live")[0], 200)
        self.assertEqual(self.server.get("/v2/health/ready")[0], 200)
        self.assertEqual(self.server.get("/v2/models/g2p.encode/ready")[0], 200)
        _, _, body = self.server.get("/v2/models/g2p.encode")
        self.assertEqual(body["inputs"][0], {"name": "letters", "datatype": "INT32", "shape": [-1, -1]})
        status, _, body = self.server.get("/v2/models/g2p")
        self.assertEqual((status, list(body)), (404, ["error"]))
        self.assertIn("g2p.encode", body["error"])

    def test_v2_gives_the_tensors_of_a_graph(self):
        names = [each["name"] for each in self.server.get("/v2/models/g2p.encode")[2]["inputs"]]
        self.assertEqual(names[0], "letters")
        request = {"id": "x", "inputs": [{"name": "letters", "shape": [1, 3], "datatype": "INT32", "data": [4, 5, 6]}]}
        request["inputs"] += [{"name": name, "shape": [1], "datatype": "INT32", "data": [3]} for name in names[1:]]
        status, _, body = self.server.post("/v2/models/g2p.encode/infer", request)
        self.assertEqual(status, 200, body)
        self.assertEqual(body["id"], "x")
        for output in body["outputs"]:
            count = 1
            for dim in output["shape"]:
                count *= dim
            self.assertEqual(len(output["data"]), count)

        request["parameters"] = {"binary_data_output": True}
        status, headers, raw = self.server.post("/v2/models/g2p.encode/infer", request)
        split = int(headers["Inference-Header-Content-Length"])
        first = json.loads(raw[:split])["outputs"][0]
        values = struct.unpack_from(f"<{len(body['outputs'][0]['data'])}f", raw, split)
        self.assertEqual(first["parameters"]["binary_data_size"], 4 * len(values))
        self.assertEqual(list(values), body["outputs"][0]["data"])

        request["inputs"][0]["data"] = [4, 5, 999999]
        status, _, body = self.server.post("/v2/models/g2p.encode/infer", request)
        self.assertEqual(status, 400, body)
        self.assertIn("letters", body["error"])

    def test_metrics_count(self):
        embedding(self.server, "w5 w7")
        text = self.server.get("/metrics")[2].decode()
        line = next(line for line in text.splitlines()
                    if line.startswith('lamina_requests_total{path="/v1/embeddings",status="200"}'))
        self.assertGreaterEqual(int(line.split()[-1]), 1)


class Answers(unittest.TestCase):
    """Of models that write texts."""

    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "llama")
        long = talking(pathlib.Path(folder.name) / "long", {"max_position_embeddings": 100000})
        cls.server = Server(lamina, [cls.model, g2p, long])

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def complete(self, prompt, **more):
        return self.server.post("/v1/completions", {"model": "llama", "prompt": prompt, "max_tokens": 12, **more})

    def events(self, path, body):
        """What a stream adds, its reasons to end, and all events."""
        status, headers, text = self.server.post(path, {**body, "stream": True})
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        lines = text.decode().split("\n\n")
        self.assertEqual(lines[-2:], ["data: [DONE]", ""])
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def test_are_those_of_the_command(self):
        prompts = ["w3 w9", "w7", "w8 w2 w1"]
        wanted = lamina_json(lamina, "run", self.model, *prompts, "--max-length", "12")
        status, _, body = self.complete(prompts)
        self.assertEqual(status, 200, body)
        self.assertEqual([each["text"] for each in body["choices"]], [each["output"] for each in wanted])
        self.assertEqual(body["choices"][0]["finish_reason"], "length")
        tokens = sum(len(each["hypotheses"][0]["tokens"]) for each in wanted)
        self.assertEqual(body["usage"], {"prompt_tokens": 6, "completion_tokens": tokens, "total_tokens": 6 + tokens})

    def test_of_g2p_are_phones(self):
        body = self.server.post("/v1/completions", {"model": "g2p", "prompt": ["hello", "vulkan"]})[2]
        self.assertEqual([each["text"] for each in body["choices"]], ["HH EH1 L OW0", "V AH1 L K AH0 N"])
        self.assertEqual(body["choices"][0]["finish_reason"], "stop")

    def test_that_are_no_numbers_are_errors_of_their_texts_alone(self):
        model = pathlib.Path(folder.name) / "nan"
        shutil.copytree(g2p, model)
        with open(model / "model.safetensors", "r+b") as file:
            header_size = struct.unpack("<Q", file.read(8))[0]
            table = json.loads(file.read(header_size))["encoder.embedding.table"]
            row = table["shape"][1] * 2 # bytes: it is in f16
            file.seek(8 + header_size + table["data_offsets"][0] + 18 * row) # of the letter q
            file.write(b"\x7f" * row)
        with Server(lamina, [model]) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            words = ["hello", "quick", "vulkan", "equal"] * 4
            asked = [pool.submit(server.post, "/v1/completions", {"model": "nan", "prompt": word}) for word in words]
            for word, answer in zip(words, asked, strict=True):
                status, _, body = answer.result()
                self.assertEqual(status, 500 if "q" in word else 200, word)
                if "q" in word:
                    self.assertIn("nan for token 0 at position 0 on cpu", body["error"]["message"])

    def test_of_conversations_are_those_of_the_command(self):
        wanted = lamina_json(lamina, "chat", self.model, "w7 w9", "w3", "--max-length", "5")
        messages = [{"role": each["role"], "content": each["content"]} for each in wanted]
        for turn in [1, 3]:
            body = {"model": "llama", "messages": messages[:turn], "max_tokens": 5}
            answer = self.server.post("/v1/chat/completions", body)[2]
            self.assertEqual(answer["choices"][0]["message"]["content"], messages[turn]["content"])
            events = self.events("/v1/chat/completions", body)
            self.assertEqual(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
            text = "".join(each["choices"][0]["delta"].get("content", "") for each in events)
            self.assertEqual(text, messages[turn]["content"])
            self.assertEqual(events[-1]["choices"][0]["finish_reason"], "length")

    def test_come_as_they_are_written(self):
        whole = self.complete("w3 w9")[2]
        events = self.events("/v1/completions", {"model": "llama", "prompt": "w3 w9", "max_tokens": 12,
                                                 "stream_options": {"include_usage": True}})
        self.assertEqual("".join(each["choices"][0]["text"] for each in events[:-1]), whole["choices"][0]["text"])
        self.assertEqual(events[-1]["usage"], whole["usage"])
        both = self.events("/v1/completions", {"model": "llama", "prompt": ["w3 w9", "w7"], "max_tokens": 12})
        for i, prompt in enumerate(["w3 w9", "w7"]):
            text = "".join(c["text"] for each in both for c in each["choices"] if c["index"] == i)
            self.assertEqual(text, self.complete(prompt)[2]["choices"][0]["text"])

    def test_of_many_clients_at_once_are_those_of_each_alone(self):
        prompts = [f"w{i} w{2 * i + 1} w3" for i in range(1, 20)]
        sampled = {"temperature": 0.9, "seed": 5, "top_k": 20}
        alone = {p: (self.complete(p)[2]["choices"], self.complete(p, **sampled)[2]["choices"]) for p in prompts}
        def both(prompt):
            return prompt, (self.complete(prompt)[2]["choices"], self.complete(prompt, **sampled)[2]["choices"])
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for prompt, found in pool.map(both, prompts * 3):
                self.assertEqual(found, alone[prompt])
        sizes = [line for line in self.server.get("/metrics")[2].decode().splitlines()
                 if line.startswith('lamina_batch_size_bucket{model="llama",le="1"}')]
        total = [line for line in self.server.get("/metrics")[2].decode().splitlines()
                 if line.startswith('lamina_batch_size_count{model="llama"}')]
        self.assertLess(int(sizes[0].split()[-1]), int(total[0].split()[-1])) # some were written side by side

    def test_with_a_seed_come_again(self):
        again = [self.complete("w3", temperature=1, seed=7, n=3)[2]["choices"] for _ in range(2)]
        self.assertEqual(again[0], again[1])
        self.assertGreater(len({each["text"] for each in again[0]}), 1) # each draws numbers of its own
        others = {self.complete("w3", temperature=1)[2]["choices"][0]["text"] for _ in range(6)}
        self.assertGreater(len(others), 1)

    def test_end_before_a_stop(self):
        text = self.complete("w3 w9")[2]["choices"][0]["text"]
        stop = text.split()[4]
        choice = self.complete("w3 w9", stop=[stop])[2]["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), (text[:text.index(stop)], "stop"))

    def test_of_what_the_model_cannot_take_are_refused(self):
        for more, words in [({"prompt": "w3 " * 5000}, "tokens"), ({"logprobs": 3}, "/logprobs: not supported"),
                            ({"temperature": "x"}, "/temperature"), ({"top_p": 0.5}, "/top_p: has no effect")]:
            for stream in [False, True]:
                status, _, body = self.complete(**{"prompt": "w3", **more}, stream=stream)
                self.assertEqual(status, 400)
                self.assertIn(words, body["error"]["message"])
        status, _, body = self.server.post("/v1/chat/completions",
                                           {"model": "g2p", "messages": [{"role": "user", "content": "hello"}]})
        self.assertEqual(status, 400)
        self.assertIn("no chat template", body["error"]["message"])

    def test_are_not_written_for_a_client_that_left(self):
        # Tokens that come slowly, and some that come faster than anybody looks for the client.
        work_for_minutes = {"model": "long", "max_tokens": 30000}
        for stream, tokens in [(True, 500), (False, 500), (False, 1)]:
            connection = self.server.connection()
            connection.request("POST", "/v1/completions",
                               json.dumps({**work_for_minutes, "prompt": ["w7"] * tokens, "stream": stream}))
            if stream: # the first pieces come long before the last
                self.assertTrue(connection.getresponse().readline().startswith(b"data: {"))
            else:
                time.sleep(0.3)
            self.assertEqual(self.inside(), 1)
            connection.close()
            for _ in range(100):
                if self.inside() == 0:
                    break
                time.sleep(0.1)
            self.assertEqual(self.inside(), 0)

    def inside(self):
        text = self.server.get("/metrics")[2].decode()
        return next(int(line.split()[-1]) for line in text.splitlines() if line.startswith("lamina_requests_inside "))


def wav(seconds):
    """The bytes of a file of a tone: 16-bit, 16 kHz, one channel."""
    samples = [int(13000 * math.sin(i * 0.3)) for i in range(int(seconds * 16000))]
    data = struct.pack(f"<{len(samples)}h", *samples)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16,
                       b"data", len(data))
    return head + data


def form(file, **fields):
    """The body and the content type of a form, as curl -F sends it."""
    boundary = "boundary-of-a-test"
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    if file is not None:
        parts.append(b'Content-Disposition: form-data; name="file"; filename="tone.wav"\r\n'
                     b"Content-Type: audio/wav\r\n\r\n" + file)
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return body + b"--" + boundary.encode() + b"--\r\n", f"multipart/form-data; boundary={boundary}"


class Transcriptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = with_words("whisper", pathlib.Path(folder.name) / "whisper")
        cls.server = Server(lamina, [model])
        file = pathlib.Path(folder.name) / "tone.wav"
        file.write_bytes(wav(0.5))
        cls.wanted = lamina_json(lamina, "run", model, file, "--language", "de")[0]

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, file=wav(0.5), **fields):
        body, kind = form(file, **{"model": "whisper", "language": "de", **fields})
        return self.server.ask("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})

    def test_are_those_of_the_command(self):
        self.assertEqual(self.ask()[2], {"text": self.wanted["output"]})
        self.assertEqual(self.ask(response_format="text")[2].decode(), self.wanted["output"] + "\n")
        verbose = self.ask(response_format="verbose_json")[2]
        self.assertEqual([each["tokens"] for each in verbose["segments"]], [each["tokens"] for each in self.wanted["parts"]])
        self.assertEqual((verbose["language"], verbose["task"]), ("de", "transcribe"))
        self.assertTrue(self.ask(response_format="srt")[2].startswith(b"1\n00:00:00,000 --> "))
        self.assertTrue(self.ask(response_format="vtt")[2].startswith(b"WEBVTT\n\n00:00:00.000 --> "))

    def test_of_many_clients_at_once_are_those_of_each_alone(self):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for status, _, body in pool.map(lambda _: self.ask(), range(12)):
                self.assertEqual((status, body["text"]), (200, self.wanted["output"]))

    def test_of_what_is_no_audio_are_refused(self):
        for fields, words in [({"file": b"no audio"}, "request: /file: tone.wav"), ({"file": None}, "'file' is missing"),
                              ({"file": b""}, "'file' is missing or empty"), ({"language": "xx"}, "xx"),
                              ({"prompt": "Hello"}, "/prompt: not supported"), ({"sped": "1"}, "/sped: unknown field"),
                              ({"response_format": "doc"}, "unknown format 'doc'; there are json"),
                              ({"temperature": "hot"}, "/temperature: expected a number")]:
            with self.subTest(words):
                status, _, body = self.ask(**fields)
                self.assertEqual(status, 400)
                self.assertIn(words, body["error"]["message"])
        status, _, body = self.server.post("/v1/audio/transcriptions", {"model": "whisper"})
        self.assertEqual(status, 400)
        self.assertIn("multipart/form-data", body["error"]["message"])


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(lamina, [sentences], "--max-body", 1)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def raw(self, request):
        """The first line of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
            connection.sendall(request)
            return connection.makefile("rb").readline().decode().strip()

    def test_what_is_not_http_is_refused(self):
        for request in [b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\xff\xfe\r\n\r\n",
                        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"]:
            with self.subTest(request):
                self.assertRegex(self.raw(request), "^HTTP/1.1 4|^$")
        self.assertIn("414", self.raw(b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        self.assertEqual(self.server.get("/v2/health/live")[0], 200) # it is still there

    def test_bodies_have_a_limit(self):
        status, _, body = self.server.post("/v1/embeddings", "x" * (2 << 20))
        self.assertEqual(status, 413)
        self.assertIn("--max-body", body["error"]["message"])
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        head = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.assertIn("413", self.raw(head + chunk * 17)) # no length is announced

    def test_paths_and_methods_are_known(self):
        status, _, body = self.server.get("/v1/nothing")
        self.assertEqual((status, body["error"]["type"]), (404, "not_found_error"))
        status, headers, body = self.server.get("/v1/embeddings")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.server.ask("DELETE", "/v2/models/sentences")[0], 405)
        self.assertEqual(list(self.server.get("/v2/nothing")[2]), ["error"])
        self.assertEqual(self.server.post("/v1/embeddings", "")[0], 400)
        self.assertEqual(self.server.post("/v1/embeddings", "[" * 100000)[0], 400)

    def test_other_sites_cannot_use_it_through_a_browser(self):
        body = {"model": "sentences", "input": "w3"}
        self.assertEqual(self.server.post("/v1/embeddings", body, Origin="http://evil.example")[0], 403)
        self.assertEqual(self.server.post("/v1/embeddings", body, Host="evil.example")[0], 403)
        self.assertEqual(self.server.post("/v1/embeddings", body, Origin=self.server.url)[0], 200)


class Keys(unittest.TestCase):
    def test_open_the_door(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("first\nsecond\n")
            file.flush()
            with Server(lamina, [sentences], "--api-key-file", file.name, "--api-key", "third") as server:
                for key, status in [("first", 200), ("second", 200), ("third", 200), ("fourth", 401), ("", 401)]:
                    self.assertEqual(server.get("/v1/models", Authorization=f"Bearer {key}")[0], status)
                status, headers, _ = server.get("/v1/models")
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
                self.assertEqual(server.get("/metrics")[0], 401)
                self.assertEqual(server.get("/v2/health/ready")[0], 200) # probes have no key


class Ending(unittest.TestCase):
    def test_loses_nothing(self):
        """Under load, every request that was begun is answered, and every other is refused or not connected."""
        with Server(lamina, [sentences]) as server:
            answers, ended = [], time.monotonic() + 20

            def client():
                while time.monotonic() < ended:
                    try:
                        connection = server.connection()
                        connection.connect()
                    except OSError:
                        return # it has ended
                    try:
                        connection.request("POST", "/v1/embeddings", json.dumps({"model": "sentences", "input": texts}))
                        answers.append(connection.getresponse().status)
                    except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
                        answers.append("not begun") # connected while the server closed its port
                    finally:
                        connection.close()

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                clients = [pool.submit(client) for _ in range(8)]
                time.sleep(0.5)
                status = server.end()
            for each in clients:
                each.result()
            self.assertEqual(status, 0)
            self.assertLess(time.monotonic(), ended)
            self.assertLessEqual(set(answers), {200, 503, "not begun"})
            self.assertGreater(answers.count(200), 8)
            accepted = answers.count(200)
            self.assertLessEqual(answers.count("not begun"), 8, f"{accepted} were answered")

    def test_is_not_delayed_by_idle_connections(self):
        with Server(lamina, [sentences]) as server:
            connection = server.connection()
            connection.request("GET", "/v2/health/live")
            connection.getresponse().read()
            began = time.monotonic()
            self.assertEqual(server.end(), 0)
            self.assertLess(time.monotonic() - began, 2)
            connection.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
