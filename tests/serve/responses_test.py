#!/usr/bin/env python3
"""Asks `lamina serve` for answers in the form of OpenAI's Responses API."""

import json
import pathlib
import sys
import tempfile
import unittest

from server import lamina_json, server_of, spelling, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()


class Responses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = talking(pathlib.Path(folder.name) / "llama")
        cls.server = server_of(cls, lamina, [cls.model, spelling(pathlib.Path(folder.name) / "spelling")])

    tools = [{"type": "function", "name": "weather", "strict": True,
              "parameters": {"type": "object", "properties": {"unit": {"enum": ["c", "f"]}}, "required": ["unit"],
                             "additionalProperties": False}}]

    def ask(self, **more):
        return self.server.post("/v1/responses", {"model": "llama", "input": "w7", "max_output_tokens": 5, **more})

    def spell(self, **more):
        return self.ask(**{"model": "spelling", "max_output_tokens": 300, "temperature": 1, "top_k": 1, **more})

    def test_are_those_of_the_command(self):
        wanted = lamina_json(lamina, "chat", self.model, "w7", "--max-length", "5")[-1]["content"]
        status, _, body = self.ask(metadata={"a": "b"})
        self.assertEqual(status, 200, body)
        self.assertEqual(body["output"][0]["content"],
                         [{"type": "output_text", "text": wanted, "annotations": [], "logprobs": []}])
        self.assertEqual([body["object"], body["status"], body["metadata"], body["max_output_tokens"], body["store"]],
                         ["response", "incomplete", {"a": "b"}, 5, False])

    def test_are_of_the_same_conversation_as_a_chat(self):
        call = {"name": "weather", "arguments": '{"unit":"c"}'}
        chat = [{"role": "system", "content": "brief"}, {"role": "user", "content": "ab"},
                {"role": "assistant", "content": "so", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
                {"role": "tool", "tool_call_id": "1", "content": "21"}, {"role": "assistant", "content": "one"},
                {"role": "assistant", "content": "two"}, {"role": "user", "content": "and?"}]
        items = [{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
                 {"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": "so"},
                 {"type": "function_call", "call_id": "1", **call},
                 {"type": "function_call_output", "call_id": "1", "output": "21"},
                 {"role": "assistant", "content": [{"type": "output_text", "text": "one"}]},
                 {"role": "assistant", "content": "two"}, {"role": "user", "content": "and?"}]
        expected = self.server.post("/v1/chat/completions", {"model": "spelling", "messages": chat, "max_tokens": 9,
                                                             "temperature": 0})[2]
        found = self.ask(model="spelling", input=items, instructions="brief", max_output_tokens=9, temperature=0)[2]
        self.assertEqual(found["output"][0]["content"][0]["text"], expected["choices"][0]["message"]["content"])
        self.assertEqual(found["usage"]["input_tokens"], expected["usage"]["prompt_tokens"])

    def test_call_tools_and_have_formats(self):
        body = self.spell(tools=self.tools, tool_choice="required", parallel_tool_calls=False)[2]
        self.assertEqual([body["status"], body["tools"]], ["completed", self.tools])
        call = body["output"][-1]
        self.assertEqual([call["type"], call["name"], list(json.loads(call["arguments"]))],
                         ["function_call", "weather", ["unit"]])
        form = {"type": "json_schema", "name": "n", "schema": {"enum": ["yes", "no"]}, "strict": True}
        for format, expected in [(form, ['"yes"', '"no"']), ({"type": "text"}, None)]:
            text = self.spell(text={"format": format}, max_output_tokens=9)[2]["output"][0]["content"][0]["text"]
            self.assertEqual(text in ['"yes"', '"no"'], expected is not None)

    def test_come_as_events_that_add_up_to_the_response(self):
        for more in ({"max_output_tokens": 9}, {"tools": self.tools, "tool_choice": "required"},
                     {"tools": self.tools, "max_output_tokens": 60}):
            status, _, text = self.server.post("/v1/responses", {"model": "spelling", "input": "who?", "temperature": 1,
                                                                 "top_k": 1, "stream": True, **more})
            self.assertEqual(status, 200)
            events = [event.split("\n") for event in text.decode().split("\n\n")[:-1]]
            names = [name.removeprefix("event: ") for name, _ in events]
            events = [json.loads(data.removeprefix("data: ")) for _, data in events]
            self.assertEqual([each["type"] for each in events], names)
            self.assertEqual([each["sequence_number"] for each in events], list(range(len(events))))
            self.assertEqual(names[:2], ["response.created", "response.in_progress"])
            last = events[-1]["response"]
            self.assertEqual(names[-1], "response." + last["status"])
            done = [each["item"] for each in events if each["type"] == "response.output_item.done"]
            self.assertEqual(done, last["output"])
            for number, item in enumerate(done):
                given = "".join(each["delta"] for each in events
                                if each["type"].endswith(".delta") and each["output_index"] == number)
                self.assertEqual(given, item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"])
                self.assertEqual({each["item_id"] for each in events if each.get("output_index") == number and "item_id" in each},
                                 {item["id"]})
            whole = self.spell(**{"input": "who?", "max_output_tokens": None, **more})[2]
            self.assertEqual([each["type"] for each in whole["output"]], [each["type"] for each in done])
            for usage in (whole["usage"], last["usage"]):
                del usage["input_tokens_details"] # the caches know the prompt of the second request
            self.assertEqual(whole["usage"], last["usage"])

    def test_that_are_wrong_are_refused(self):
        for more, words in [({"input": None}, "/input: expected a text"), ({"input": []}, "/input: expected a text"),
                            ({"input": [{"type": "item_reference", "id": "1"}]}, "/input/0/type"),
                            ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "/input/0/content/0/type"),
                            ({"previous_response_id": "resp_1"}, "/previous_response_id: not supported"),
                            ({"tools": [{"type": "web_search"}]}, "/tools/0/type"),
                            ({"text": {"format": {"type": "xml"}}}, "type"), ({"max_output_tokens": 0}, "/max_output_tokens: expected"),
                            ({"top_logprobs": 3}, "/top_logprobs: not supported")]:
            status, _, body = self.ask(**more)
            self.assertEqual(status, 400, more)
            self.assertIn(words, body["error"]["message"])


if __name__ == "__main__":
    unittest.main()
