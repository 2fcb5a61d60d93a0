#!/usr/bin/env python3
"""Asks `lamina serve` for answers in the form of Anthropic's Messages API."""

import json
import pathlib
import sys
import tempfile
import unittest

from server import Server, lamina_json, server_of, spelling, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "llama")
        cls.server = server_of(cls, lamina, [cls.model, spelling(pathlib.Path(folder.name) / "spelling")])

    tools = [{"name": "weather", "input_schema": {"type": "object", "properties": {"unit": {"enum": ["c", "f"]}},
                                                  "required": ["unit"], "additionalProperties": False}}]

    def ask(self, path="/v1/messages", **more):
        return self.server.post(path, {"model": "llama", "max_tokens": 5, "messages": [{"role": "user", "content": "w7"}],
                                       **more})

    def spell(self, **more):
        return self.ask(**{"model": "spelling", "max_tokens": 300, "temperature": 1, **more})

    def events(self, **more):
        status, headers, text = self.spell(stream=True, **more)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        out = []
        for event in text.decode().split("\n\n")[:-1]:
            name, data = event.split("\n")
            out.append(json.loads(data.removeprefix("data: ")))
            self.assertEqual(name, "event: " + out[-1]["type"])
        return out

    def test_are_those_of_the_command(self):
        wanted = lamina_json(lamina, "chat", self.model, "w7", "--max-length", "5")[-1]["content"]
        status, _, body = self.ask()
        self.assertEqual(status, 200, body)
        self.assertEqual(body["content"], [{"type": "text", "text": wanted}])
        self.assertEqual([body["type"], body["role"], body["model"], body["stop_reason"], body["stop_sequence"]],
                         ["message", "assistant", "llama", "max_tokens", None])
        self.assertEqual(self.ask("/v1/messages/count_tokens")[2], {"input_tokens": body["usage"]["input_tokens"]})
        stop = wanted.split()[2]
        stopped = self.ask(stop_sequences=[stop])[2]
        self.assertEqual([stopped["stop_reason"], stopped["stop_sequence"]], ["stop_sequence", stop])
        self.assertEqual(stopped["content"][0]["text"], wanted[:wanted.index(stop)])

    def test_are_of_the_same_conversation_as_a_chat(self):
        """A template sees what it would see of OpenAI's form."""
        call = {"name": "weather", "arguments": '{"unit":"c"}'}
        chat = [{"role": "system", "content": "be\nbrief"}, {"role": "user", "content": "a\nb"},
                {"role": "assistant", "content": "so", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
                {"role": "tool", "tool_call_id": "1", "content": "21"}, {"role": "user", "content": "and?"}]
        text = lambda *texts: [{"type": "text", "text": each} for each in texts]
        messages = [{"role": "user", "content": text("a", "b")},
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": ""}, *text("so"),
                                                      {"type": "tool_use", "id": "1", "name": "weather", "input": {"unit": "c"}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": text("21")},
                                                 *text("and?")]}]
        expected = self.server.post("/v1/chat/completions", {"model": "spelling", "messages": chat, "max_tokens": 9,
                                                             "temperature": 0})[2]
        found = self.spell(messages=messages, system=text("be", "brief"), max_tokens=9, temperature=0)[2]
        self.assertEqual(found["content"][0]["text"], expected["choices"][0]["message"]["content"])
        self.assertEqual(found["usage"]["input_tokens"], expected["usage"]["prompt_tokens"])

    def test_call_tools(self):
        for choice in ({"type": "any"}, {"type": "tool", "name": "weather"}):
            body = self.spell(tools=self.tools, tool_choice={**choice, "disable_parallel_tool_use": True}, top_k=1)[2]
            self.assertEqual(body["stop_reason"], "tool_use")
            call = body["content"][-1]
            self.assertEqual([call["type"], call["name"], list(call["input"])], ["tool_use", "weather", ["unit"]])
            self.assertRegex(call["id"], "^[0-9a-z]{9}$")
            events = self.events(tools=self.tools, tool_choice={**choice, "disable_parallel_tool_use": True}, top_k=1)
            given = "".join(each["delta"]["partial_json"] for each in events
                            if each["type"] == "content_block_delta" and "partial_json" in each["delta"])
            self.assertEqual(json.loads(given), call["input"])
            self.assertEqual(events[-2]["delta"]["stop_reason"], "tool_use")

    def test_come_in_blocks_one_after_the_other(self):
        for more in ({"max_tokens": 9}, {"max_tokens": 60, "tools": self.tools}):
            events = self.events(**more, top_k=1)
            whole = self.spell(**more, top_k=1)[2]
            kinds = [each["type"] for each in events]
            self.assertEqual([kinds[0], kinds[-2:]], ["message_start", ["message_delta", "message_stop"]])
            self.assertEqual(events[0]["message"]["usage"]["input_tokens"], whole["usage"]["input_tokens"])
            self.assertEqual(events[-2]["usage"], whole["usage"])
            blocks, is_open = [], False
            for each in events[1:-2]:
                self.assertEqual(each["index"], len(blocks) - (each["type"] != "content_block_start"))
                self.assertEqual(each["type"] != "content_block_start", is_open)
                is_open = each["type"] != "content_block_stop"
                if each["type"] == "content_block_start":
                    blocks.append("")
                elif each["type"] == "content_block_delta":
                    blocks[-1] += next(value for key, value in each["delta"].items() if key != "type")
            self.assertFalse(is_open)
            self.assertEqual(blocks[0], whole["content"][0].get("text", ""))

    def test_that_are_wrong_are_refused_as_clients_expect_it(self):
        hello = {"role": "user", "content": "w1"}
        for more, words in [({"messages": [hello, {"role": "assistant", "content": "w"}]}, "/messages: expected the last"),
                            ({"messages": [{"role": "system", "content": "w"}]}, "/messages/0/role: expected"),
                            ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "/messages/0/content/0/type"),
                            ({"max_tokens": None}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
                            ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "/tools/0/type"),
                            ({"tool_choice": {"type": "some"}}, "/tool_choice/type"),
                            ({"thinking": {"type": "maybe"}}, "/thinking/type"),
                            ({"max_token": 3}, "did you mean 'max_tokens'"), ({"top_k": 2}, "/top_k: has no effect")]:
            status, _, body = self.ask(**more)
            self.assertEqual(status, 400, more)
            self.assertEqual([status, body["type"], body["error"]["type"]], [400, "error", "invalid_request_error"], more)
            self.assertIn(words, body["error"]["message"])
        self.assertEqual(self.ask(model="nobody")[2]["error"]["type"], "not_found_error")

    def test_need_a_key_where_there_are_some(self):
        with Server(lamina, [self.model], "--api-key", "secret") as server:
            body = {"model": "llama", "max_tokens": 2, "messages": [{"role": "user", "content": "w1"}]}
            for headers, status in [({"x-api-key": "secret"}, 200), ({"Authorization": "Bearer secret"}, 200),
                                    ({"x-api-key": "wrong"}, 401), ({"x-api-key": ""}, 401), ({}, 401)]:
                found = server.ask("POST", "/v1/messages", body, headers)
                self.assertEqual(found[0], status)
                if status == 401:
                    self.assertEqual(found[2]["error"]["type"], "authentication_error")


if __name__ == "__main__":
    unittest.main()
