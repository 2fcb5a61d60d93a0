#!/usr/bin/env python3
"""Calls liblamina_c from Python's ctypes: conversations, vectors and tokens, as the command has them."""

import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from server import lamina_json, talking, wav, with_words # noqa: E402

library = ctypes.CDLL(sys.argv.pop(1))
command = sys.argv.pop(1)
audio_program = sys.argv.pop(1)
folder = pathlib.Path(tempfile.mkdtemp())
Piece = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
Notice = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
library.lamina_error.restype = ctypes.c_char_p
library.lamina_free.argtypes = library.lamina_close.argtypes = [ctypes.c_void_p]
no_piece = Piece()


def as_json(options):
    return None if options is None else json.dumps(options).encode()


def text_of(function, model, given, options=None, piece=no_piece):
    """The result, and the text."""
    out = ctypes.c_void_p()
    result = function(model, given, as_json(options), piece, None, ctypes.byref(out))
    text = ctypes.string_at(out).decode() if out else None
    library.lamina_free(out)
    return result, text


class C(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.paths = {"llama": talking(folder / "llama", {"max_position_embeddings": 200}),
                     "sentences": with_words("sentences", folder / "sentences"),
                     "whisper": with_words("whisper", folder / "whisper")}
        cls.models = {}
        for name, path in cls.paths.items():
            cls.models[name] = ctypes.c_void_p()
            if library.lamina_load(str(path).encode(), b'{"device": "cpu"}', ctypes.byref(cls.models[name])) != 0:
                raise RuntimeError(library.lamina_error())

    @classmethod
    def tearDownClass(cls):
        for model in cls.models.values():
            library.lamina_close(model)

    def chat(self, messages, options=None, piece=no_piece):
        return text_of(library.lamina_chat, self.models["llama"], as_json(messages), options, piece)

    def test_conversations_are_those_of_the_command(self):
        found = lamina_json(command, "chat", self.paths["llama"], "w7", "w9 w3", "--max-length", "6")
        pieces = []
        piece = Piece(lambda _, text: pieces.append(text.decode()) or 0)
        self.assertEqual(self.chat(found[:3], {"max_length": 6}, piece), (0, found[3]["content"]))
        self.assertEqual("".join(pieces), found[3]["content"])
        self.assertEqual(self.chat(found[:3], {"max_length": 6, "temperature": 1.5, "seed": 3})[0], 0)

    def test_that_are_too_long_lose_their_oldest_turns(self):
        said = [{"role": role, "content": f"w{i} " * 30} for i, role in enumerate(["user", "assistant"] * 4 + ["user"])]
        fitting = self.chat(said[-5:], {"max_length": 6})
        self.assertEqual(self.chat(said, {"max_length": 6}), fitting)
        result, text = self.chat(said, {"max_length": 6, "truncation": "disabled"})
        self.assertEqual((result, text), (3, None))

    def test_content_may_be_in_parts(self):
        said = [{"role": "user", "content": "w5 w7", "name": "w8"}, {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "user", "content": "w9"}]
        parts = [{**said[0], "content": [{"type": "text", "text": "w5 "}, {"type": "text", "text": "w7"}]}, *said[1:]]
        self.assertEqual(self.chat(said, {"max_length": 6})[0], 0, library.lamina_error())
        self.assertEqual(self.chat(parts, {"max_length": 6}), self.chat(said, {"max_length": 6}))
        for wrong, why in (([{"type": "image_url"}], b"only parts of type"), (5, b"expected a text or a list of parts")):
            self.assertEqual(self.chat([{"role": "user", "content": wrong}])[0], 3)
            self.assertIn(why, library.lamina_error())

    def test_notices_may_change_who_hears_the_next_one(self):
        first, others = [], []
        later = Notice(lambda _, line: others.append(line))

        @Notice
        def once(_, line):
            library.lamina_on_notice(later, None)
            first.append(line)

        def work(): # what is proved cannot be remembered, of which the user is told
            model = ctypes.c_void_p()
            library.lamina_load(str(self.paths["llama"]).encode(), b'{"device": "cpu"}', ctypes.byref(model))
            text_of(library.lamina_generate, model, b"w3", {"max_length": 2})
            library.lamina_close(model)

        no_folder = folder / "a file"
        no_folder.write_text("")
        library.lamina_on_notice(once, None)
        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(no_folder)):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(60)
        self.assertFalse(thread.is_alive(), "it waits for itself")
        self.assertEqual(len(first), 1, others)
        library.lamina_on_notice(Notice(), None)

    def test_texts_are_of_a_grammar(self):
        model = self.models["llama"]
        self.assertEqual(text_of(library.lamina_generate, model, b"w3", {"regex": " w1 w2| w1 w4"})[1] in (" w1 w2", " w1 w4"),
                         True)
        for wrong in ({"regex": "("}, {"json_schema": {"type": "nothing"}}, {"grammar": "x"}, {"stop": 3}, {"seed": -1}):
            self.assertEqual(text_of(library.lamina_generate, model, b"w3", wrong), (3, None), wrong)
            self.assertIn(next(iter(wrong)), library.lamina_error().decode())

    def test_transcripts_are_those_of_the_command(self):
        file = folder / "tone.wav"
        file.write_bytes(wav(40)) # two windows
        expected = lamina_json(command, "run", self.paths["whisper"], file, "--max-length", "9")[0]["output"]
        self.assertGreater(len(expected.split()), 3)
        model, options = self.models["whisper"], {"max_length": 9}
        samples = [value / 32768 for value in struct.unpack(f"<{40 * 16000}h", file.read_bytes()[44:])]
        given = (ctypes.c_float * len(samples))(*samples)

        def transcribe(count, rate, options=options, piece=no_piece):
            out = ctypes.c_void_p()
            result = library.lamina_transcribe(model, given, ctypes.c_size_t(count), ctypes.c_int64(rate), as_json(options),
                                               piece, None, ctypes.byref(out))
            text = ctypes.string_at(out).decode() if out else None
            library.lamina_free(out)
            return result, text

        from_file = library.lamina_transcribe_file
        self.assertEqual(text_of(from_file, model, str(file).encode(), options), (0, expected), library.lamina_error())
        self.assertEqual(transcribe(len(samples), 16000), (0, expected))
        self.assertEqual(transcribe(len(samples), 16000, {**options, "temperature": 1.5, "seed": 3})[0], 0)
        pieces = []
        some = Piece(lambda _, text: pieces.append(text.decode()) or len(pieces) == 2)
        result, text = text_of(from_file, model, str(file).encode(), options, some)
        self.assertEqual((result, text, len(pieces)), (0, "".join(pieces), 2))
        self.assertTrue(expected.startswith(text.strip()))
        for ask, words in ((lambda: transcribe(0, 16000), b"samples"), (lambda: transcribe(9, 0), b"samples per second"),
                           (lambda: transcribe(9, 16000, {"language": "xx"}), b"language"),
                           (lambda: transcribe(9, 16000, {"stop": "x"}), b"stop"),
                           (lambda: text_of(from_file, model, b"nothing.wav"), b"nothing.wav"),
                           (lambda: text_of(from_file, self.models["llama"], str(file).encode()), b"audio")):
            result, text = ask()
            self.assertNotEqual(result, 0)
            self.assertIsNone(text)
            self.assertIn(words, library.lamina_error())
        run = ["run", self.paths["whisper"], file, "--max-length", "9"]
        segments = lamina_json(command, *run, "--timestamps", "segments")[0]
        result, text = transcribe(len(samples), 16000, {**options, "format": "json"})
        self.assertEqual((result, json.loads(text)["text"]), (0, segments["output"]))
        self.assertEqual([[each["begin"], each["end"], each["text"]] for each in json.loads(text)["segments"]],
                         [[each["begin"], each["end"], each["output"]] for each in segments["segments"]])
        for form in ["srt", "vtt"]:
            subtitles = subprocess.run([command, *run, "--subtitles", form, "--device", "cpu"],
                                       capture_output=True, text=True, check=True).stdout
            self.assertEqual(transcribe(len(samples), 16000, {**options, "format": form}), (0, subtitles))
        for wrong, words in [({"timestamps": "segments"}, b"timestamps: has no effect"),
                             ({"format": "xml"}, b"format: expected one of text, json, srt, vtt"),
                             ({"format": "json", "timestamps": "characters"}, b"timestamps")]:
            self.assertNotEqual(transcribe(9, 16000, wrong)[0], 0)
            self.assertIn(words, library.lamina_error())
        program = subprocess.run([audio_program, self.paths["whisper"], file], capture_output=True, text=True)
        self.assertEqual((program.returncode, program.stdout), (0, expected + "\n"), program.stderr)

    def test_vectors_are_those_of_the_command(self):
        texts = ["w3 w4", "w7"]
        vectors, width = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        given = (ctypes.c_char_p * 2)(*[each.encode() for each in texts])
        embed = lambda count, options: library.lamina_embed(self.models["sentences"], given, ctypes.c_size_t(count), options,
                                                            ctypes.byref(vectors), ctypes.byref(width))
        self.assertEqual(embed(2, None), 0, library.lamina_error())
        expected = [each["embedding"] for each in lamina_json(command, "run", self.paths["sentences"], *texts)]
        for i, row in enumerate(expected):
            self.assertEqual(width.value, len(row))
            for k, value in enumerate(row):
                self.assertAlmostEqual(vectors[i * width.value + k], value, places=5)
        library.lamina_free(ctypes.cast(vectors, ctypes.c_void_p))
        self.assertEqual(embed(2, b'{"windows": true}'), 0)
        library.lamina_free(ctypes.cast(vectors, ctypes.c_void_p))
        self.assertEqual(embed(0, None), 0)
        self.assertEqual(width.value, len(expected[0]))
        library.lamina_free(ctypes.cast(vectors, ctypes.c_void_p))
        self.assertEqual(embed(2, b'{"prompt": "query"}'), 2)
        self.assertFalse(vectors)

    def test_tokens_and_back(self):
        ids, count, text = ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t(), ctypes.c_char_p()
        for name, special, expected in (("sentences", 1, [1, 3, 9, 2]), ("sentences", 0, [3, 9]), ("llama", 1, [3, 9])):
            model = self.models[name]
            self.assertEqual(library.lamina_tokenize(model, b"w3 w9", special, ctypes.byref(ids), ctypes.byref(count)), 0)
            self.assertEqual(ids[:count.value], expected)
            self.assertEqual(library.lamina_detokenize(model, ids, count, 1, ctypes.byref(text)), 0)
            self.assertIn("w3 w9", text.value.decode())

    def test_errors_are_of_their_threads(self):
        self.assertEqual(self.chat([{"role": "user"}, 3])[0], 3)
        mine, others = library.lamina_error(), []
        thread = threading.Thread(target=lambda: others.append(library.lamina_error()))
        thread.start()
        thread.join()
        self.assertIn(b"messages", mine)
        self.assertEqual(others, [b""])
        for wrong in ([], {}, [{"content": "x"}], "w3"):
            self.assertEqual(self.chat(wrong)[0], 3, wrong)

    def test_threads_take_turns(self):
        expected, found = self.chat([{"role": "user", "content": "w5"}], {"max_length": 20}), []
        ask = lambda: found.append(self.chat([{"role": "user", "content": "w5"}], {"max_length": 20}))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(found, [expected] * 4)


if __name__ == "__main__":
    unittest.main()
