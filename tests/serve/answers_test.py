#!/usr/bin/env python3
"""Asks `lamina serve` for answers: of conversations, and to prompts."""

import concurrent.futures
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import time
import unittest

from server import Server, lamina_json, repository, server_of, spelling, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
g2p = repository / "models" / "g2p"


class Answers(unittest.TestCase):
    """Of models that write texts."""

    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "llama")
        long = talking(pathlib.Path(folder.name) / "long", {"max_position_embeddings": 100000})
        spelled = spelling(pathlib.Path(folder.name) / "spelling")
        ending = talking(pathlib.Path(folder.name) / "ending")
        (ending / "generation_config.json").write_text('{"eos_token_id": 2}')
        cls.server = server_of(cls, lamina, [cls.model, g2p, long, spelled, ending])

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
        self.assertEqual(body["usage"], {"prompt_tokens": 6, "completion_tokens": tokens, "total_tokens": 6 + tokens,
                                         "prompt_tokens_details": {"cached_tokens": 0}})

    def test_of_token_ids_are_those_of_their_texts(self):
        prompts = ["w3 w9", "w7"]
        ids = [self.server.post("/tokenize", {"model": "llama", "prompt": each})[2]["tokens"] for each in prompts]
        wanted = [each["text"] for each in self.complete(prompts)[2]["choices"]]
        self.assertEqual([each["text"] for each in self.complete(ids)[2]["choices"]], wanted)
        status, _, body = self.complete(ids[0])
        self.assertEqual((status, [each["text"] for each in body["choices"]]), (200, wanted[:1]), body)
        self.assertEqual(body["usage"]["prompt_tokens"], len(ids[0]))
        for wrong, words in [([ids[0], [1 << 20]], "/prompt/1/0: expected an id below"), ([ids[0], []], "/prompt"),
                             ([1] * 5000, "tokens; expected at most")]:
            status, _, body = self.complete(wrong)
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])

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

    def test_tell_how_likely_their_tokens_were(self):
        wanted = lamina_json(lamina, "run", self.model, "w3 w9", "--max-length", "5", "--likeliest", "3")
        scores = wanted[0]["hypotheses"][0]["scores"]
        numbers = lambda of: [round(each["log_probability"], 4) for each in of]

        choice = self.complete("w3 w9", max_tokens=5, logprobs=3)[2]["choices"][0]
        told = choice["logprobs"]
        self.assertEqual(told["tokens"], [each["text"] for each in scores])
        self.assertEqual([round(each, 4) for each in told["token_logprobs"]], numbers(scores))
        for mine, theirs in zip(told["top_logprobs"], scores):
            self.assertEqual([round(each, 4) for each in mine.values()], numbers(theirs["likeliest"]))
        for offset, token in zip(told["text_offset"], told["tokens"]):
            self.assertEqual(choice["text"][offset:offset + len(token)], token)

        events = self.events("/v1/completions", {"model": "llama", "prompt": "w3 w9", "max_tokens": 5, "logprobs": 3})
        parts = [each["choices"][0]["logprobs"] for each in events if each["choices"][0]["logprobs"]]
        for key in ("tokens", "token_logprobs", "text_offset"):
            self.assertEqual([each for part in parts for each in part[key]], told[key])
        self.assertIsNone(self.complete("w3 w9")[2]["choices"][0]["logprobs"])

        asked = {"model": "llama", "messages": [{"role": "user", "content": "w3"}], "max_tokens": 5, "logprobs": True,
                 "temperature": 0}
        none = self.server.post("/v1/chat/completions", asked)[2]["choices"][0]["logprobs"]["content"]
        self.assertEqual([each["top_logprobs"] for each in none], [[]] * len(none))
        asked["top_logprobs"] = 2
        content = self.server.post("/v1/chat/completions", asked)[2]["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(content), 5)
        for each in content: # greedy
            self.assertEqual([len(each["top_logprobs"]), each["top_logprobs"][0]["token"]], [2, each["token"]])
            self.assertEqual(bytes(each["bytes"]).decode(), each["token"])
        events = self.events("/v1/chat/completions", asked)
        streamed = [part for each in events for part in (each["choices"][0]["logprobs"] or {"content": []})["content"]]
        self.assertEqual(streamed, content)
        asked["logprobs"] = False
        status, _, body = self.server.post("/v1/chat/completions", asked)
        self.assertEqual([status, "/top_logprobs" in body["error"]["message"]], [400, True])

    def test_have_tokens_that_are_wanted_more_or_less(self):
        found = self.complete("w3 w9", logprobs=1)[2]["choices"][0]
        self.assertEqual(self.complete("w3 w9", frequency_penalty=0, logit_bias={})[2]["choices"][0]["text"], found["text"])
        wanted = lamina_json(lamina, "run", self.model, "w3 w9", "--max-length", "12", "--frequency-penalty", "2",
                             "--presence-penalty", "1")[0]["output"]
        penalized = self.complete("w3 w9", frequency_penalty=2, presence_penalty=1)[2]["choices"][0]["text"]
        self.assertEqual(penalized, wanted)
        first = lamina_json(lamina, "run", self.model, "w3 w9", "--max-length", "1")[0]["hypotheses"][0]["tokens"][0]
        for bias, expected in ((100, True), (-100, False)):
            text = self.complete("w3 w9", max_tokens=6, logit_bias={str(first): bias}, logprobs=0)[2]["choices"][0]
            tokens = text["logprobs"]["tokens"]
            self.assertEqual([each == found["logprobs"]["tokens"][0] for each in tokens], [expected] * len(tokens))
        status, _, body = self.complete("w3 w9", model="long", n=128, temperature=1, max_tokens=90000, logprobs=20)
        self.assertEqual([status, "fewer answers" in body["error"]["message"]], [400, True])
        status, _, body = self.complete(["w3"] * 2048, logit_bias={str(i): 1 for i in range(1024)}, stop="x" * 16384)
        self.assertEqual([status, "fewer at once" in body["error"]["message"]], [400, True])
        status, _, body = self.complete("w3 w9", logit_bias={"123456": 1})
        self.assertEqual([status, "/logit_bias/123456: expected a token's id, from 0 to 52" in body["error"]["message"]],
                         [400, True], body)
        self.assertEqual(body["error"]["param"], "logit_bias")

    def test_are_as_long_as_a_client_wants_them(self):
        end = {"model": "ending", "logit_bias": {"2": 100}}
        for more, found in (({}, [0, "stop"]), ({"min_tokens": 5}, [5, "stop"]), ({"ignore_eos": True}, [12, "length"])):
            body = self.complete("w3", **end, **more)[2]
            self.assertEqual([body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]], found)

    def test_end_before_a_stop(self):
        text = self.complete("w3 w9")[2]["choices"][0]["text"]
        stop = text.split()[4]
        choice = self.complete("w3 w9", stop=[stop])[2]["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), (text[:text.index(stop)], "stop"))
        first, second = text.split()[:2]
        for stop, tokens in ((first, 1), (f" {first}", 1), (f" {first} {second}", 2)): # the blank is behind the prompt
            body = self.complete("w3 w9", stop=[stop])[2]
            self.assertEqual(body["choices"][0]["text"], text[:text.index(stop)])
            self.assertEqual(body["usage"]["completion_tokens"], tokens)

    def spell(self, path="/v1/chat/completions", **more):
        what = {"messages": [{"role": "user", "content": "who?"}]} if "chat" in path else {"prompt": "who?"}
        return self.server.post(path, {"model": "spelling", "max_tokens": 400, "temperature": 1, "seed": 3, **what, **more})

    def test_are_of_the_schema_that_a_client_wants(self):
        schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer"},
                                                   "of": {"enum": ["here", "there"]}},
                  "required": ["name", "age", "of"], "additionalProperties": False}
        wanted = {"response_format": {"type": "json_schema",
                                      "json_schema": {"name": "person", "strict": True, "schema": schema}}}
        status, _, body = self.spell(n=5, **wanted)
        self.assertEqual(status, 200, body)
        for choice in body["choices"]:
            self.assertEqual(choice["finish_reason"], "stop")
            person = json.loads(choice["message"]["content"])
            self.assertEqual(list(person), ["name", "age", "of"])
            self.assertIsInstance(person["age"], int)
            self.assertIn(person["of"], ["here", "there"])
        events = self.events("/v1/completions", {"model": "spelling", "prompt": "who?", "max_tokens": 400, "temperature": 1,
                                                 "seed": 3, **wanted})
        self.assertIn("age", json.loads("".join(each["choices"][0]["text"] for each in events)))

    def test_are_json_or_match_a_pattern_if_a_client_wants_it(self):
        ended = 0
        for seed in range(8):
            choice = self.spell(seed=seed, max_tokens=300, response_format={"type": "json_object"})[2]["choices"][0]
            if choice["finish_reason"] == "stop":
                ended += 1
                self.assertIsInstance(json.loads(choice["message"]["content"]), dict)
        self.assertGreater(ended, 0)
        for how, pattern in [({"regex": "[ab]{3}-[0-9]"}, "^[ab]{3}-[0-9]$"), ({"choice": ["yes", "no", 'a "b"']}, '^(yes|no|a "b")$'),
                             ({"grammar": 'root ::= "1. " [a-c]+ "."'}, "^1\\. [a-c]+\\.$"),
                             ({"json": {"type": "integer", "minimum": 3, "maximum": 12}}, "^([3-9]|1[0-2])$")]:
            text = self.spell("/v1/completions", structured_outputs=how)[2]["choices"][0]["text"]
            self.assertRegex(text, pattern)

    tools = [{"type": "function", "function": {
                  "name": "weather", "description": "The weather of a city.", "strict": True,
                  "parameters": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9},
                                                                  "unit": {"enum": ["c", "f"]}},
                                 "required": ["city", "unit"], "additionalProperties": False}}},
             {"type": "function", "function": {"name": "time"}}]

    def expect_calls(self, calls):
        for call in calls:
            self.assertEqual(call["type"], "function")
            self.assertRegex(call["id"], "^[0-9a-z]{9}$")
            arguments = json.loads(call["function"]["arguments"])
            self.assertIn(call["function"]["name"], ["weather", "time"])
            if call["function"]["name"] == "weather":
                self.assertEqual(list(arguments), ["city", "unit"])
                self.assertIn(arguments["unit"], ["c", "f"])

    def test_call_tools_as_these_want_it(self):
        weather = {"type": "function", "function": {"name": "weather"}}
        for choice in ["required", weather]:
            for seed in range(4):
                more = {"tools": self.tools[:1], "tool_choice": choice, "seed": seed, "max_tokens": 600}
                choices = self.spell(**more)[2]["choices"]
                message = choices[0]["message"]
                if choices[0]["finish_reason"] == "length": # one call after the other
                    continue
                self.assertEqual(choices[0]["finish_reason"], "tool_calls")
                self.assertIsNone(message["content"])
                self.expect_calls(message["tool_calls"])
                if choice == weather:
                    self.assertEqual(len(message["tool_calls"]), 1)
                self.check_stream(message, more)
                history = [{"role": "user", "content": "who?"}, message,
                           *({"role": "tool", "tool_call_id": call["id"], "content": "21"} for call in message["tool_calls"])]
                self.assertEqual(self.spell(messages=history, tools=self.tools, max_tokens=5)[0], 200)

    def check_stream(self, message, more):
        """Events add up to the same message."""
        events = self.events("/v1/chat/completions", {"model": "spelling", "messages": [{"role": "user", "content": "who?"}],
                                                      "temperature": 1, **more})
        calls = []
        for delta in [event["choices"][0]["delta"] for event in events]:
            self.assertFalse(delta.get("content"))
            for call in delta.get("tool_calls", []):
                if call["index"] == len(calls):
                    calls.append({"function": {"name": call["function"]["name"], "arguments": ""}})
                calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        self.assertEqual(calls, [{"function": call["function"]} for call in message["tool_calls"]])
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "tool_calls")

    def test_may_call_tools_or_not(self):
        for seed in range(6):
            message = self.spell(tools=self.tools, seed=seed, max_tokens=200)[2]["choices"][0]["message"]
            if "tool_calls" not in message:
                self.assertIsInstance(message["content"], str)
        same = [self.spell(seed=3, **more)[2]["choices"][0]["message"] for more in
                [{}, {"tools": self.tools, "tool_choice": "none"}, {"tools": []}]]
        self.assertEqual(same[0], same[1])
        self.assertEqual(same[0], same[2])

    def test_have_thoughts_apart(self):
        body = self.spell(chat_template_kwargs={"think": True}, max_tokens=80)[2]
        message = body["choices"][0]["message"]
        self.assertGreater(len(message["reasoning_content"]), 20) # it does not end
        thought = len(message["reasoning_content"]) # tokens are characters, and the first may be blanks
        self.assertEqual(body["usage"]["completion_tokens_details"], {"reasoning_tokens": thought})
        # A thought that ends: the marks around it are not of it, nor are blanks.
        ended = {"structured_outputs": {"regex": "<think> a,b </think> c{3}"}}
        body = self.spell(**ended)[2]
        self.assertEqual(body["choices"][0]["message"]["reasoning_content"], "a,b")
        self.assertEqual(body["usage"]["completion_tokens_details"], {"reasoning_tokens": 3})
        body = self.server.post("/v1/responses", {"model": "spelling", "input": "who?", "max_output_tokens": 60,
                                                  "temperature": 1, "seed": 3})[2]
        self.assertEqual(body["usage"]["output_tokens_details"], {"reasoning_tokens": 0})
        events = self.events("/v1/chat/completions", {
            "model": "spelling", "messages": [{"role": "user", "content": "who?"}], "max_tokens": 80, "temperature": 1,
            "stream_options": {"include_usage": True}, **ended})
        self.assertEqual(events[-1]["usage"]["completion_tokens_details"], {"reasoning_tokens": 3})
        self.assertEqual(message["content"], "")
        events = self.events("/v1/chat/completions", {
            "model": "spelling", "messages": [{"role": "user", "content": "who?"}], "max_tokens": 80, "temperature": 1,
            "seed": 3, "chat_template_kwargs": {"think": True}})
        thought = "".join(each["choices"][0]["delta"].get("reasoning_content", "") for each in events)
        self.assertEqual(thought, message["reasoning_content"])

    def test_are_of_a_grammar_behind_a_thought(self):
        think = {"chat_template_kwargs": {"think": True}, "max_tokens": 800}
        choice = self.spell(response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": {
            "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}, **think)[2]["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(list(json.loads(choice["message"]["content"])), ["a"])
        for seed in range(8): # a thought may take all tokens
            choice = self.spell(tools=self.tools[:1], tool_choice="required", parallel_tool_calls=False, seed=seed,
                                **think)[2]["choices"][0]
            self.assertEqual(choice["finish_reason"] == "tool_calls", "tool_calls" in choice["message"])
            self.expect_calls(choice["message"].get("tool_calls", []))

    def test_choices_of_no_tools_and_messages_of_nothing_are_refused(self):
        for more, words in [({"tool_choice": "any"}, "/tool_choice: expected"),
                            ({"tool_choice": {"type": "x"}}, "/tool_choice/type: expected"),
                            ({"parallel_tool_calls": "x"}, "/parallel_tool_calls: expected"),
                            ({"messages": [{"role": "user"}]}, "/messages/0: expected \"content\""),
                            ({"messages": [{"role": "user", "content": None}]}, "/messages/0: expected \"content\""),
                            ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "foo": 1}]}]},
                             "/messages/0/content/0/foo: unknown field"),
                            ({"top_k": -2}, "/top_k: expected a whole number from -1 to")]:
            status, _, body = self.spell(**more)
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])

    def test_parts_of_a_content_may_say_that_something_is_not_given(self):
        part = {"type": "text", "text": "a", "image_url": None, "annotations": [], "cache_control": None}
        status, _, body = self.spell(messages=[{"role": "user", "content": [part]}])
        self.assertEqual(status, 200, body)

    def test_may_be_thought_about_more_or_less(self):
        def tokens(**more):
            status, _, body = self.spell(max_tokens=1, **more)
            self.assertEqual(status, 200, body)
            return body["usage"]["prompt_tokens"]
        usual = tokens()
        self.assertEqual(tokens(reasoning_effort="low"), usual + len("effort: low\n"))
        self.assertEqual(tokens(reasoning_effort="none"), usual + len("brief\n"))
        self.assertEqual(tokens(reasoning_effort=None), usual)
        body = self.server.post("/v1/responses", {"model": "spelling", "input": "who?", "max_output_tokens": 1,
                                                  "reasoning": {"effort": "low"}})[2]
        self.assertEqual(body["usage"]["input_tokens"], usual + len("effort: low\n"))
        for status, _, body in [self.spell(reasoning_effort="hi"), self.server.post("/v1/responses", {
                "model": "spelling", "input": "a", "reasoning": {"effort": "hi"}})]:
            self.assertEqual(status, 400, body)
            self.assertIn("effort: expected one of none, minimal, low", body["error"]["message"])

    def test_of_tools_that_are_wrong_are_refused(self):
        for more, words in [({"model": "llama"}, "the chat template of llama takes none"),
                            ({"tool_choice": "any"}, "/tool_choice: expected"),
                            ({"response_format": {"type": "json_object"}}, "/tools: cannot be used with"),
                            ({"chat_template_kwargs": {"tools": []}}, "/chat_template_kwargs/tools: expected as a field")]:
            status, _, body = self.spell(**{"tools": self.tools, **more})
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])

    def test_of_grammars_that_are_wrong_are_refused(self):
        def schema(what):
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": what}}}
        for more, words in [(schema({"type": "object", "not": {}}),
                             "request: /response_format/json_schema/schema: /not: this keyword is not supported"),
                            ({"response_format": {"type": "xml"}}, "/response_format/type: expected"),
                            ({"structured_outputs": {"regex": "(a"}}, "/structured_outputs/regex: line 1, column 3: expected ')'"),
                            ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, "expected one of json, regex"),
                            ({"structured_outputs": {"regexp": "a"}}, "did you mean 'regex'?"),
                            ({"structured_outputs": {"regex": "(a{60000}|b){60000}" * 9}}, "too large"),
                            ({"structured_outputs": {"regex": "(.{0,200}){0,200}x"}}, "more than 5000 ways at once"),
                            ({"structured_outputs": {"choice": []}}, "choice: expected at least one text")]:
            status, _, body = self.spell(**more)
            self.assertEqual(status, 400, body)
            self.assertIn(words, body["error"]["message"])

    def test_of_what_the_model_cannot_take_are_refused(self):
        for more, words in [({"prompt": "w3 " * 5000}, "tokens"), ({"logprobs": 30}, "/logprobs: expected"),
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
        return inside(self.server)


class Turns(unittest.TestCase):
    """One model writes one answer at a time. Eight requests wait when another one comes."""

    def answers_before(self, server, headers, other_headers, address="127.0.0.1"):
        """How many of the eight have been answered when the other one is.

        A request that is inside may still be read when the other one is already queued, so not all need be.
        """
        def ask(name, headers, address):
            body = json.dumps({"model": "llama", "prompt": "w3 w9", "max_tokens": 1000})
            self.assertEqual(server.ask("POST", "/v1/completions", body, headers, address)[0], 200)
            order.append(name)
        order = []
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            asked = [pool.submit(ask, "one of eight", headers, "127.0.0.1") for _ in range(8)]
            while inside(server, headers) < 8 and not order:
                time.sleep(0.001)
            asked.append(pool.submit(ask, "the other", other_headers, address))
        for each in asked:
            each.result()
        return order.index("the other")

    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "turns" / "llama", {"max_position_embeddings": 2000})

    def test_are_those_of_keys(self):
        keys = [{"Authorization": f"Bearer {key}"} for key in ["first", "second"]]
        with Server(lamina, [self.model], "--slots", 1, "--api-key", "first", "--api-key", "second") as server:
            self.assertLess(self.answers_before(server, *keys), 4)
            self.assertGreater(self.answers_before(server, keys[0], keys[0]), 4)

    @unittest.skipUnless(sys.platform == "linux", "only there has a machine many addresses of its own")
    def test_are_those_of_addresses(self):
        with Server(lamina, [self.model], "--slots", 1) as server:
            self.assertLess(self.answers_before(server, {}, {}, "127.0.0.2"), 4)
            self.assertGreater(self.answers_before(server, {}, {}, "127.0.0.1"), 4)


def inside(server, headers=None):
    """How many requests wait or run."""
    text = server.ask("GET", "/metrics", headers=headers)[2].decode()
    return next(int(line.split()[-1]) for line in text.splitlines() if line.startswith("lamina_requests_inside "))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
