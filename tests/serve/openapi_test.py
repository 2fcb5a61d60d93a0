#!/usr/bin/env python3
"""Compares /openapi.json of `lamina serve` with what the server does.

All other tests check their responses against it, too: server.py.
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest

from document import Document
from server import Server, repository, server_of, spelling, talking, wav, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
message = {"role": "user", "content": "w7"}
# A request of each route that takes JSON. A field is added to it at a time.
requests = {
    "/v1/completions": {"model": "talker", "prompt": "w7", "max_tokens": 2, "temperature": 1},
    "/v1/chat/completions": {"model": "talker", "messages": [message], "max_tokens": 2, "temperature": 1},
    "/v1/responses": {"model": "talker", "input": "w7", "max_output_tokens": 2, "temperature": 1},
    "/v1/messages": {"model": "talker", "messages": [message], "max_tokens": 2, "temperature": 1},
    "/v1/messages/count_tokens": {"model": "talker", "messages": [message]},
    "/v1/embeddings": {"model": "sentences", "input": "w7"},
    "/v1/rerank": {"model": "ranker", "query": "w7", "documents": ["w3"]},
    "/v1/score": {"model": "ranker", "text_1": "w7", "text_2": "w3"},
    "/embed": {"inputs": "w7"},
    "/rerank": {"query": "w7", "texts": ["w3"]},
    "/predict": {"inputs": "w7"},
    "/tokenize": {"model": "talker", "prompt": "w7"},
    "/detokenize": {"model": "talker", "tokens": [7]},
    "/apply-template": {"model": "talker", "messages": [message]},
    "/models/load": {"model": "talker"},
    "/models/unload": {"model": "spare"},
}
boss = {"Authorization": "Bearer boss"}
# A value for each field whose schema does not say enough to make one, and what else it needs.
values = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "tool_choice": "none", "messages": [message], "modalities": ["text"], "response_format": {"type": "text"},
    "structured_outputs": {"choice": [" w3"]}, "text": {"format": {"type": "text"}}, "system": "w9", "logit_bias": {"3": 1},
    "stop": "w51", "stop_sequences": "w51", "input": "w7", "prompt": "w7", "documents": ["w3"], "texts": ["w3"],
    "inputs": "w7", "tokens": [7], "text_2": "w3", "lora": [],
}
flat = {"tools": [{"type": "function", "name": "f"}]}
anthropic = {"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "none"}, "thinking": {"type": "enabled"}}


def part(name, value):
    """Of a form with the boundary "b"."""
    value = value if isinstance(value, bytes) else value.encode()
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"


class TheDocument(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        models = [talking(here / "talker"), with_words("sentences", here / "sentences"),
                  with_words("bert_score", here / "ranker"), spelling(here / "speller"),
                  with_words("whisper", here / "listener"), repository / "models" / "g2p", f"spare={here / 'talker'}"]
        cls.server = server_of(cls, lamina, models, "--admin-key", "boss")
        cls.text = cls.server.get("/openapi.json")[2]
        cls.document = Document(cls.text)

    def schema(self, path, kind="application/json"):
        """Of the requests of a route."""
        return self.document.schema(self.text["paths"][path]["post"]["requestBody"]["content"][kind]["schema"])

    def properties(self, path):
        return self.schema(path)["properties"]

    def test_has_all_routes_of_the_server_and_no_others(self):
        source = (repository / "serve" / "api.cpp").read_text()
        routes = {(method.lower(), pattern) for method, pattern in re.findall(r'\{"(GET|POST)", "([^"]+)", &Api::', source)}
        self.assertGreater(len(routes), 30)
        self.assertEqual(routes, {(method, path) for path, item in self.text["paths"].items() for method in item})
        names = [each["operationId"] for item in self.text["paths"].values() for each in item.values()]
        self.assertEqual(len(names), len(set(names)))

    def test_refers_to_schemas_that_it_has_and_uses_all_of_them(self):
        found = re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(self.text))
        self.assertEqual(set(found), set(self.text["components"]["schemas"]))

    def test_describes_the_parts_of_paths(self):
        for path, item in self.text["paths"].items():
            for operation in item.values():
                named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
                self.assertEqual(named, re.findall(r"\{(\w+)\}", path))

    def test_has_keys_only_where_they_are_needed(self):
        with Server(lamina, [here / "talker"]) as server:
            self.assertNotIn("securitySchemes", server.get("/openapi.json")[2]["components"])
        with Server(lamina, [here / "talker"], "--api-key", "secret") as server:
            text = server.get("/openapi.json")[2] # as the page and probes, it needs none
            for path, item in text["paths"].items():
                for method, operation in item.items():
                    asked = re.sub(r"\{\w+\}", "talker", path)
                    status = server.ask(method.upper(), asked, "{}" if method == "post" else None)[0]
                    self.assertEqual(status == 401, "security" in operation, path)
                    self.assertEqual("401" in operation["responses"], "security" in operation, path)

    def test_has_the_fields_that_requests_may_have(self):
        for path in [each for each, item in self.text["paths"].items() if "post" in item]:
            if path == "/v1/audio/transcriptions" or path.startswith("/v2/"):
                continue
            status, _, body = self.server.post(path, {**requests[path], "no_such_field": 1}, **boss)
            self.assertEqual(status, 400, body)
            taken = re.search(r"supported are (.*)$", body["error"]["message"])[1].split(", ")
            fields = self.properties(path)
            idle = [name for name, each in fields.items()
                    if each.get("description", "").startswith(("Ignored", "Supported only"))]
            self.assertEqual(set(taken) | set(idle), set(fields), path)
        form = self.schema("/v1/audio/transcriptions", "multipart/form-data")
        taken = {"file", "model", "language", "response_format", "temperature", "timestamp_granularities[]"}
        idle = {name for name, each in form["properties"].items() if "Supported only" in each.get("description", "")}
        self.assertEqual(taken | idle, set(form["properties"]))
        status, _, body = self.server.ask("POST", "/v1/audio/transcriptions", part("no_such_field", "1") + b"--b--\r\n",
                                          {"Content-Type": "multipart/form-data; boundary=b"})
        self.assertEqual(status, 400)
        self.assertIn("supported are file, model, language, response_format, temperature, timestamp_granularities[]",
                      body["error"]["message"])

    def test_has_fields_that_requests_take(self):
        """Each may be there, null if it is not required, and have the values that it may only have."""
        for path, request in requests.items():
            for name, schema in self.properties(path).items():
                for value in self.some(path, name, schema):
                    body = {**request, name: value}
                    if name == "top_logprobs" and value:
                        body["logprobs"] = True
                    if name == "max_tokens" and value == 0:
                        body["echo"] = True
                    if name in ["content", "messages"] and path == "/tokenize" and value:
                        body.pop("prompt")
                    if name == "model" and value is None:
                        continue # there are several here
                    with self.subTest(path=path, field=name, value=value):
                        self.assertIsNone(self.document.fault(value, schema))
                        status, _, found = self.server.post(path, body, **boss)
                        if name in ["tools"] and value and "template of talker" in str(found):
                            continue # it is understood, but the model calls none
                        if name in ["language", "source_language"] and value and "no such setting" in str(found):
                            continue # it is understood, but the model does not translate
                        self.assertEqual(status, 200, found)

    def some(self, path, name, schema):
        out = [] if name in self.schema(path).get("required", []) else [None]
        if path.startswith("/v1/messages") and name in anthropic:
            return [*out, anthropic[name]]
        if path == "/v1/responses" and name in flat:
            return [*out, flat[name]]
        if path == "/tokenize" and name == "prompt":
            return ["w7"]
        schema = self.document.schema(schema)
        if "enum" in schema:
            return [*out, *[each for each in schema["enum"] if each is not None]]
        if schema.get("description", "").startswith("Ignored"):
            return [*out, {"anything": [1]}] if name not in ["name", "description", "strict"] else out
        if name in values:
            return [*out, values[name]]
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if "minimum" in schema and name != "seed":
            out.append(schema["minimum"])
        if "maximum" in schema:
            out.append(min(schema["maximum"], {"n": 3, "min_tokens": 2, "dimensions": 8}.get(name, 100)))
        if "boolean" in types:
            out += [False] + [True] * (name != "stream")
        if "object" in types:
            out.append({})
        if "string" in types:
            out.append({"model": requests[path].get("model"), "instructions": "w9"}.get(name, "w7"))
        return out

    def test_has_bounds_that_the_server_keeps(self):
        count = 0
        for path, request in requests.items():
            for name, schema in self.properties(path).items():
                if name == "seed": # whose bounds are those of the numbers
                    continue
                for bound, more in [("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0)]:
                    if bound not in schema:
                        continue
                    value = schema[bound] + more
                    count += 1
                    self.assertIsNotNone(self.document.fault(value, schema))
                    body = {**request, name: value, **({"logprobs": True} if name == "top_logprobs" else {})}
                    status, _, body = self.server.post(path, body, **boss)
                    self.assertEqual(status, 400, f"{path} {name} {value}")
                    self.assertRegex(body["error"]["message"], r"expected", f"{path} {name}")
        self.assertGreater(count, 100)

    def test_fits_what_clients_ask(self):
        """Requests that other tests send are of the schemas, down to their last part."""
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for path, more in [
                ("/v1/chat/completions", {"messages": [
                    {"role": "system", "content": "w1"}, message,
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "1", "content": "w3"}]}),
                ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": "w7"}]}]}),
                ("/v1/responses", {"input": [{"role": "user", "content": "w7"}, {
                    "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}, {
                    "type": "function_call_output", "call_id": "1", "output": "w3"}, {"type": "reasoning", "content": []}]}),
                ("/v1/messages", {"messages": [message, {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "w1"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]}, {
                    "role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "w3"}]}]}),
                ("/v1/embeddings", {"input": [[7, 9], [3]]}), ("/v1/rerank", {"documents": [{"text": "w3"}]}),
                ("/predict", {"inputs": [["w7", "w3"], ["w9"]]})]:
            body = {**requests[path], **more}
            self.assertIsNone(self.document.fault(body, self.schema(path)), path)
            status, _, found = self.server.post(path, body)
            self.assertEqual(status, 200, found)
        for path, wrong in [("/v1/chat/completions", {"messages": [{"role": "tool", "refusal": "w7"}]}),
                            ("/v1/chat/completions", {"messages": []}), ("/v1/embeddings", {"input": []}),
                            ("/v1/chat/completions", {"messages": [message, {"role": "tool", "tool_call_id": 1}]}),
                            ("/v1/chat/completions", {"stream_options": {"include": True}}),
                            ("/v1/chat/completions", {"tools": [
                                {"type": "function", "function": {"name": "f", "strict": 1}}]}),
                            ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
                            ("/v1/messages", {"tools": [{"name": "f", "input_schema": None}]}),
                            ("/v1/rerank", {"truncate": True, "truncate_prompt_tokens": 5})]:
            body = {**requests[path], **wrong}
            self.assertIsNotNone(self.document.fault(body, self.schema(path)), path)
            self.assertEqual(self.server.post(path, body)[0], 400)

    def test_fits_answers_of_all_kinds(self):
        """server.py compares each response that it gets."""
        for path, request in requests.items():
            self.assertEqual(self.server.post(path, request, **boss)[0], 200)
            if "stream" in self.properties(path) and "count" not in path:
                _, headers, _ = self.server.post(path, {**request, "stream": True}, **boss)
                self.assertEqual(headers["Content-Type"], "text/event-stream")
        for path in ["/", "/page/app.js", "/status", "/health", "/metrics", "/props?model=talker", "/v1/models",
                     "/v1/models/talker", "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/sentences",
                     "/v2/models/sentences/ready", "/v2/models/sentences/versions/1/ready"]:
            self.assertEqual(self.server.get(path)[0], 200, path)
        for path, status in [("/v1/models/nothing", 404), ("/v2/models/nothing", 404), ("/props", 400),
                             ("/page/nothing", 404)]:
            self.assertEqual(self.server.get(path)[0], status)
        scored = {**requests["/v1/chat/completions"], "logprobs": True, "top_logprobs": 2}
        self.assertIsNotNone(self.server.post("/v1/chat/completions", scored)[2]["choices"][0]["logprobs"])
        empty = {"type": "object", "properties": {}, "additionalProperties": False}
        called = {"model": "speller", "messages": [message], "max_tokens": 300, "temperature": 1, "seed": 3,
                  "tools": [{"type": "function", "function": {"name": "f", "parameters": empty}}],
                  "tool_choice": {"type": "function", "function": {"name": "f"}}}
        self.assertEqual(self.server.post("/v1/chat/completions", called)[2]["choices"][0]["finish_reason"], "tool_calls")
        self.assertEqual(self.server.post("/v1/chat/completions", {**called, "stream": True})[0], 200)

    def test_fits_transcripts(self):
        for how in ["json", "text", "verbose_json", "srt", "vtt"]:
            body = part("model", "listener") + part("response_format", how) + part("file", wav(0.5)) + b"--b--\r\n"
            status, _, found = self.server.ask("POST", "/v1/audio/transcriptions", body,
                                               {"Content-Type": "multipart/form-data; boundary=b"})
            self.assertEqual(status, 200, found)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
