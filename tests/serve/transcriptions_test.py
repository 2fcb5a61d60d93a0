#!/usr/bin/env python3
"""Asks `lamina serve` for transcripts."""

import concurrent.futures
import pathlib
import sys
import tempfile
import unittest

from server import lamina_json, server_of, wav, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()


def form(file, **fields):
    """The body and the content type of a form, as curl -F sends it; a field that is a list, once for each value."""
    boundary = "boundary-of-a-test"
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, values in fields.items()
             for value in (values if isinstance(values, list) else [values])]
    if file is not None:
        parts.append(b'Content-Disposition: form-data; name="file"; filename="tone.wav"\r\n'
                     b"Content-Type: audio/wav\r\n\r\n" + file)
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return body + b"--" + boundary.encode() + b"--\r\n", f"multipart/form-data; boundary={boundary}"


speech = pathlib.Path(__file__).resolve().parents[1] / "architectures" / "speech" / "wav2vec2"  # scores characters


class Transcriptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = with_words("whisper", pathlib.Path(folder.name) / "whisper")
        cls.server = server_of(cls, lamina, [model, speech])
        file = pathlib.Path(folder.name) / "tone.wav"
        file.write_bytes(wav(0.5))
        cls.wanted = lamina_json(lamina, "run", model, file, "--language", "de")[0]
        cls.timed = lamina_json(lamina, "run", model, file, "--language", "de", "--timestamps", "segments")[0]
        cls.spoken = lamina_json(lamina, "run", model, file, "--language", "de", "--timestamps", "words")[0]
        cls.words = lamina_json(lamina, "run", speech, file, "--timestamps", "words")[0]
        cls.characters = lamina_json(lamina, "run", speech, file)[0]

    def ask(self, file=wav(0.5), **fields):
        body, kind = form(file, **{"model": "whisper", "language": "de", **fields})
        return self.server.ask("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})

    def test_are_those_of_the_command(self):
        self.assertEqual(self.ask()[2], {"text": self.wanted["output"]})
        self.assertEqual(self.ask(response_format="text")[2].decode(), self.wanted["output"] + "\n")
        verbose = self.ask(response_format="verbose_json")[2]
        timed = [(each["begin"], each["end"], each["tokens"], each["output"]) for each in self.timed["segments"]]
        self.assertGreater(len(timed), 2)
        self.assertGreater(len(self.timed["parts"]), 1)
        self.assertEqual([(each["start"], each["end"], each["tokens"], each["text"]) for each in verbose["segments"]], timed)
        self.assertEqual((verbose["language"], verbose["task"]), ("de", "transcribe"))
        self.assertEqual(verbose["text"], self.timed["output"])
        body, kind = form(wav(0.5), model="whisper", response_format="verbose_json")
        heard = self.server.ask("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})[2]
        self.assertEqual(heard, self.ask(language=heard["language"], response_format="verbose_json")[2])
        self.assertEqual(self.ask(**{"response_format": "verbose_json", "timestamp_granularities[]": "segment"})[2], verbose)
        words = self.ask(**{"response_format": "verbose_json", "timestamp_granularities[]": "word"})[2]
        self.assertEqual([(each["word"], each["start"], each["end"]) for each in words["words"]],
                         [(each["output"].lstrip(), each["begin"], each["end"]) for each in self.spoken["segments"]])
        self.assertEqual(len(words["words"]), len(timed))  # there are no blanks in these tokens
        self.assertEqual(words["text"], verbose["text"])
        both = self.ask(**{"response_format": "verbose_json", "timestamp_granularities[]": ["segment", "word"]})[2]
        self.assertEqual(both["words"], words["words"])
        times = [[(each["start"], each["end"], each["tokens"], each["text"]) for each in answer["segments"]]
                 for answer in (both, verbose)]
        self.assertEqual(*times)
        self.assertEqual([each["tokens"] for each in self.spoken["phrases"]], [each["tokens"] for each in self.timed["segments"]])
        self.assertTrue(self.ask(response_format="srt")[2].startswith(b"1\n00:00:00,"))
        self.assertEqual(self.ask(response_format="srt")[2].count(b" --> "), len(timed))
        self.assertTrue(self.ask(response_format="vtt")[2].startswith(b"WEBVTT\n\n00:00:00."))
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for found in pool.map(lambda i: self.ask(response_format=["verbose_json", "json"][i % 2])[2], range(8)):
                self.assertIn(found["text"], (self.timed["output"], self.wanted["output"]))
                self.assertEqual(found.get("segments", verbose["segments"]), verbose["segments"])

    def test_of_characters_are_those_of_the_command(self):
        def ask(**fields):
            body, kind = form(wav(0.5), model="wav2vec2", **fields)
            return self.server.ask("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})
        self.assertGreater(len(self.characters["output"]), 0)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for status, _, body in pool.map(lambda _: ask(), range(6)):
                self.assertEqual((status, body), (200, {"text": self.characters["output"]}))
        words = ask(**{"response_format": "verbose_json", "timestamp_granularities[]": "word"})[2]
        self.assertEqual([(each["word"], each["start"], each["end"]) for each in words["words"]],
                         [(each["output"], each["begin"], each["end"]) for each in self.words["segments"]])
        self.assertGreater(len(words["words"]), 0)
        self.assertNotIn("segments", words)
        self.assertEqual(len(ask(response_format="verbose_json")[2]["segments"]), 1)  # a window
        status, _, body = ask(temperature="0.5")
        self.assertEqual(status, 400)
        self.assertIn("temperature: does not apply to this model", body["error"]["message"])

    def test_of_many_clients_at_once_are_those_of_each_alone(self):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for status, _, body in pool.map(lambda _: self.ask(), range(12)):
                self.assertEqual((status, body["text"]), (200, self.wanted["output"]))

    def test_of_what_is_no_audio_are_refused(self):
        for fields, words in [({"file": b"no audio"}, "request: /file: tone.wav"), ({"file": None}, "'file' is missing"),
                              ({"file": b""}, "'file' is missing or empty"), ({"language": "xx"}, "xx"),
                              ({"prompt": "Hello"}, "/prompt: not supported"), ({"sped": "1"}, "/sped: unknown field"),
                              ({"response_format": "doc"}, "unknown format 'doc'; there are json"),
                              ({"temperature": "hot"}, "/temperature: expected a number"),
                              ({"timestamp_granularities[]": "page"}, "expected segment or word, found 'page'"),
                              ({"timestamp_granularities[]": "segment"}, "expected a response_format verbose_json")]:
            with self.subTest(words):
                status, _, body = self.ask(**fields)
                self.assertEqual(status, 400)
                self.assertIn(words, body["error"]["message"])
        status, _, body = self.server.post("/v1/audio/transcriptions", {"model": "whisper"})
        self.assertEqual(status, 400)
        self.assertIn("multipart/form-data", body["error"]["message"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
