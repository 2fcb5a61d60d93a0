#!/usr/bin/env python3
"""Asks `lamina serve` about images."""

import base64
import json
import pathlib
import random
import re
import shutil
import struct
import sys
import tempfile
import unittest
import zlib

from server import Server, lamina_json, repository, server_of, talking

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
architectures = repository / "tests" / "architectures"
files = architectures / "images" / "files"
answers = json.loads((architectures / "seeing" / "expected.json").read_text())
expected = answers["llava"]


def seeing(to, model="llava", words="talking"):
    shutil.copytree(architectures / "models" / model, to)
    shutil.copytree(architectures / "seeing" / words, to, dirs_exist_ok=True)
    return to


def part(file):
    data = base64.b64encode((files / file).read_bytes()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{file.split('.')[-1]};base64,{data}"}}


def png(width, height, rows, before=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join([b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), before, chunk(b"IDAT", zlib.compress(rows)),
                     chunk(b"IEND", b"")])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def part_of(image):
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(image).decode()}}


def tall(pixels):
    return part_of(png(1, pixels, b"\0abc" * pixels))


def messages_of(conversation):
    """As clients of OpenAI write them."""
    images, out = iter(conversation["images"]), []
    for message in conversation["messages"]:
        content = message["content"]
        if not isinstance(content, str):
            content = [part(next(images)) if each["type"] == "image" else each for each in content]
        out.append({"role": message["role"], "content": content})
    return out


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = seeing(pathlib.Path(folder.name) / "llava")
        cls.blind = talking(pathlib.Path(folder.name) / "blind")
        cls.gemma = seeing(pathlib.Path(folder.name) / "gemma", "gemma3_sees", "talking_gemma3")
        cls.qwen = seeing(pathlib.Path(folder.name) / "qwen", "qwen2_5_vl_sees")
        cls.server = server_of(cls, lamina, [cls.model, cls.blind, cls.gemma, cls.qwen])

    def ask(self, messages, model="llava", **more):
        return self.server.post("/v1/chat/completions", {
            "model": model, "messages": messages, "max_tokens": 6, "ignore_eos": True, "temperature": 0, **more})

    def test_answers_are_those_of_transformers(self):
        for conversation in expected:
            status, _, body = self.ask(messages_of(conversation), logprobs=True)
            self.assertEqual(status, 200, body)
            tokens = [each["token"] for each in body["choices"][0]["logprobs"]["content"]]
            wanted = ["<image>" if i == 50 else f"w{i}" for i in conversation["answer"]]
            self.assertEqual([each.strip() for each in tokens], wanted)
            self.assertEqual(body["usage"]["prompt_tokens"], len(conversation["ids"]))

    def test_answers_are_the_same_in_other_apis(self):
        def anthropic(message):
            blocks = message["content"]
            if isinstance(blocks, str):
                return message
            return {"role": message["role"], "content": [
                each if each["type"] == "text" else
                {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                             "data": each["image_url"]["url"].split(",")[1]}} for each in blocks]}

        def item(message):
            parts = message["content"]
            if isinstance(parts, str):
                return message
            return {"role": message["role"], "content": [
                {"type": "input_text", "text": each["text"]} if each["type"] == "text" else
                {"type": "input_image", "detail": "auto", "image_url": each["image_url"]["url"]} for each in parts]}

        for conversation in expected:
            messages = messages_of(conversation)
            wanted = self.ask(messages, ignore_eos=False)[2]["choices"][0]["message"]["content"]
            system = [each["content"] for each in messages if each["role"] == "system"]
            others = [each for each in messages if each["role"] != "system"]
            status, _, body = self.server.post("/v1/messages", {
                "model": "llava", "messages": [anthropic(each) for each in others], "max_tokens": 6,
                "temperature": 0, **({"system": system[0]} if system else {})})
            self.assertEqual(status, 200, body)
            self.assertEqual("".join(each["text"] for each in body["content"]), wanted)
            self.assertEqual(body["usage"]["input_tokens"] + body["usage"].get("cache_read_input_tokens", 0),
                             len(conversation["ids"]))
            status, _, body = self.server.post("/v1/messages/count_tokens", {
                "model": "llava", "messages": [anthropic(each) for each in others],
                **({"system": system[0]} if system else {})})
            self.assertEqual((status, body), (200, {"input_tokens": len(conversation["ids"])}))
            status, _, body = self.server.post("/v1/responses", {
                "model": "llava", "input": [item(each) for each in messages], "max_output_tokens": 6,
                "temperature": 0})
            self.assertEqual(status, 200, body)
            self.assertEqual("".join(part["text"] for each in body["output"] for part in each["content"]), wanted)

    def test_what_is_no_image_is_refused_in_other_apis(self):
        def refused(path, request, words):
            status, _, body = self.server.post(path, {"model": "llava", **request})
            self.assertEqual(status, 400, body)
            for word in words:
                self.assertIn(word, body["error"]["message"])

        block = lambda **source: {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
                                  "system": "w3", "max_tokens": 6}
        place = "/messages/0/content/0/source/"
        refused("/v1/messages", block(type="url", url="https://example.com/cat.jpg"), [place + "type", "fetches nothing"])
        refused("/v1/messages", block(type="base64", data="a*c="), [place + "data", "base64"])
        refused("/v1/messages", block(type="base64", data="YWJj"), [place + "data", "expected an image in PNG"])
        shown = lambda **part: {"input": [{"role": "user", "content": [{"type": "input_image", **part}]}],
                                "instructions": "w3"}
        place = "/input/0/content/0/image_url"
        refused("/v1/responses", shown(image_url="https://example.com/cat.jpg"), [place, "fetches nothing"])
        refused("/v1/responses", shown(image_url="data:image/png;base64,YWJj"), [place, "expected an image in PNG"])
        refused("/v1/responses", shown(file_id="1"), ["image_url"])
        blind = shown(image_url=part("photo.png")["image_url"]["url"])
        refused("/v1/responses", {**blind, "model": "blind"}, [place, "takes no images"])

    def test_prompts_share_what_is_before_an_image_and_the_image_if_it_is_the_same(self):
        reused = lambda file: self.ask([{"role": "user", "content": [
            {"type": "text", "text": "w31"}, part(file), {"type": "text", "text": "w32 w33"}]}])[2]["usage"][
                "prompt_tokens_details"]["cached_tokens"]
        reused("photo.png")
        self.assertLess(reused("gray.jpg"), 9)
        self.assertGreater(reused("gray.jpg"), 9)

    def test_several_clients_ask_about_several_images(self):
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(self.ask, messages_of(each), logprobs=True) for each in expected * 4]
        for conversation, answer in zip(expected * 4, asked):
            tokens = answer.result()[2]["choices"][0]["logprobs"]["content"]
            self.assertEqual([each["token"].strip() for each in tokens],
                             ["<image>" if i == 50 else f"w{i}" for i in conversation["answer"]])

    def test_images_may_see_all_of_themselves(self):
        import concurrent.futures
        conversations = answers["gemma3_sees"] * 3
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(self.ask, messages_of(each), "gemma") for each in conversations]
        for conversation, answer in zip(conversations, asked):
            status, _, body = answer.result()
            self.assertEqual(status, 200, body)
            self.assertEqual(body["choices"][0]["message"]["content"].split(),
                             [f"w{i}" for i in conversation["answer"] if i not in (1, 2, 49, 50, 51, 52)])

    def test_images_have_any_size(self):
        import concurrent.futures
        conversations = json.loads((architectures / "seeing" / "any_size.json").read_text())["qwen2_5_vl_sees"] * 3
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(self.ask, messages_of(each), "qwen") for each in conversations]
        for conversation, answer in zip(conversations, asked):
            status, _, body = answer.result()
            self.assertEqual(status, 200, body)
            self.assertEqual(body["choices"][0]["message"]["content"].split(),
                             [f"w{i}" for i in conversation["answer"] if i not in (0, 1, 2, 50)])
            self.assertEqual(body["usage"]["prompt_tokens"], len(conversation["ids"]))
        self.refused([tall(201)], ["1 x 201 pixels", "at most 200 times"], "qwen")

    def test_gguf_files_see_with_a_projector(self):
        pair = architectures / "models" / "gguf_llava_sees"
        conversations = json.loads((architectures / "seeing" / "projectors.json").read_text())[pair.name]
        alone = shutil.copy(pair / "model.gguf", pathlib.Path(folder.name) / "alone.gguf")
        for served in ([f"llava={pair / 'model.gguf'}"], [f"llava={alone}", "--mmproj", pair / "mmproj.gguf"]):
            with Server(lamina, *([served[:1]] + served[1:])) as server:
                for conversation in conversations[:3]:
                    status, _, body = server.post("/v1/chat/completions", {
                        "model": "llava", "messages": messages_of(conversation), "max_tokens": 6, "ignore_eos": True,
                        "temperature": 0})
                    self.assertEqual(status, 200, body)
                    self.assertEqual(body["choices"][0]["message"]["content"].split(),
                                     [f"w{i}" for i in conversation["answer"] if i not in (0, 1, 2, 50, 51, 52)])

    def test_that_are_too_much_for_a_prompt_are_not_computed(self):
        self.refused([tall(2_000_000)], ["1 x 2000000 pixels", "sides of at most 1048576"])
        self.refused([part_of(png(2**31 - 1, 1, b"\0"))], ["2147483647 x 1 pixels", "sides of at most 1048576"])
        with Server(lamina, [self.model], "--context", "30") as server:
            status, _, body = server.post("/v1/chat/completions", {
                "model": "llava", "messages": [{"role": "user", "content": [part("photo.png")] * 4}]})
            self.assertEqual([status, body["error"]["code"]], [400, "context_length_exceeded"], body)

    def refused(self, content, words, model="llava", field="messages"):
        status, _, body = self.ask([{"role": "user", "content": content}], model)
        self.assertEqual(status, 400, body)
        for word in words:
            self.assertIn(word, body["error"]["message"])
        self.assertEqual(body["error"]["param"].split("/")[0].split(".")[0].split("[")[0], field)

    def test_what_is_no_image_is_refused(self):
        address = lambda url: [{"type": "image_url", "image_url": {"url": url}}]
        self.refused(address("https://example.com/cat.jpg"), ["/messages/0/content/0/image_url/url", "fetches nothing"])
        self.refused(address("data:image/png,abc"), ["/messages/0/content/0/image_url/url", ";base64,"])
        self.refused(address("data:image/png;base64,a*c="), ["/messages/0/content/0/image_url/url", "is not base64"])
        self.refused(address("data:image/png;base64,YWJj"), ["/content/0/image_url/url", "expected an image in PNG"])
        cut = (files / "photo.png").read_bytes()[:200]
        self.refused(address("data:image/png;base64," + base64.b64encode(cut).decode()), ["image_url/url", "PNG"])
        self.refused([{"type": "image_url"}], ["image_url"])
        self.refused([{"type": "input_audio"}], ['only parts of type "text" and "image_url"'])
        self.refused([part("photo.png")], ["takes no images"], "blind")
        self.refused([part("photo.png"), {"type": "text", "text": "<image>"}], ["for each of 1 image", "found it 2 times"])
        self.refused([part("photo.png")] * 65, ["at most 64 images"])
        status, _, body = self.ask([{"role": "system", "content": [part("photo.png")]}])
        self.assertEqual(status, 400, body)

    def test_texts_of_a_png_take_no_memory(self):
        texts = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"a" * 7_000_000, 9)) * 300 # 2 GB
        content = [part_of(png(1, 1, bytes(4), texts)), {"type": "text", "text": "w3"}]
        status, _, body = self.ask([{"role": "user", "content": content}])
        self.assertEqual(status, 200, body)
        memory = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        self.assertLess(int(memory), 1_000_000) # KiB

    def test_a_jpeg_of_endless_scans_is_refused(self):
        jpeg = (files / "progressive.jpg").read_bytes()
        scan = re.search(rb"\xff\xda.*?(?=\xff[^\0\xd0-\xd7])", jpeg, re.DOTALL)
        many = jpeg[:scan.start()] + scan[0] * 200 + jpeg[scan.end():]
        url = "data:image/jpeg;base64," + base64.b64encode(many).decode()
        self.refused([{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "w3"}],
                     ["more than 100 scans"])

    def test_images_have_no_ids(self):
        status, _, body = self.server.post("/tokenize", {"model": "llava", "messages": messages_of(expected[0])})
        self.assertEqual(status, 400, body)
        self.assertIn("/messages: images have no ids of tokens; expected texts alone", body["error"]["message"])

    def test_photos_may_be_large_and_texts_may_not(self):
        noise = random.Random(1)
        photo = part_of(png(1400, 1200, b"".join(b"\0" + noise.randbytes(3 * 1400) for _ in range(1200))))
        self.assertGreater(len(photo["image_url"]["url"]), 6 << 20)
        status, _, body = self.ask([{"role": "user", "content": [photo, {"type": "text", "text": "w38"}]}])
        self.assertEqual(status, 200, body)
        for content in ["w38 " * (3 << 19), [tall(9), {"type": "text", "text": "w38 " * (3 << 19)}]]:
            status, _, body = self.ask([{"role": "user", "content": content}])
            self.assertEqual(status, 413, body)
            self.assertIn("expected at most 4194304 bytes beside images, found 6291", body["error"]["message"])

    def test_props_tell_who_sees(self):
        vision = lambda model: self.server.get("/props?model=" + model)[2]["modalities"]["vision"]
        self.assertEqual((vision("llava"), vision("blind")), (True, False))
        status = self.server.get("/status")[2]
        self.assertEqual({each["name"]: each["modalities"] for each in status["models"][:2]},
                         {"llava": {"vision": True, "audio": False}, "blind": {"vision": False, "audio": False}})
        self.assertEqual(status["limits"], {"body": 32 << 20, "images": 64, "pixels": 1 << 26})

    def test_command_answers_alike(self):
        first = expected[0]
        out = lamina_json(lamina, "chat", self.model, "--image", files / first["images"][0], "w38 w19 w5", "--max-length",
                          "6", "--temperature", "0")
        answer = self.ask(messages_of(first), ignore_eos=False)[2]["choices"][0]["message"]["content"]
        self.assertEqual(out[-1]["content"].strip(), answer.strip())
        out = lamina_json(lamina, "run", self.model, "--image", files / first["images"][0], "w3 w4", "--max-length", "10")
        self.assertEqual(len(out), 1)


if __name__ == "__main__":
    unittest.main()
