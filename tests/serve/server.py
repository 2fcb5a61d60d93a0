"""Starts `lamina serve` for tests, and asks it."""

import http.client
import json
import math
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

from document import Document

repository = pathlib.Path(__file__).resolve().parents[2]
fixtures = repository / "tests" / "architectures" / "models"


class Server:
    """A server on a free port, on the CPU. `with Server(lamina, [models]) as server: ...` ends it."""

    def __init__(self, lamina, models, *options):
        self.paths = [str(pathlib.Path(str(model).split("=")[-1])).encode() for model in models]
        port = [] if "--port" in options else ["--port", "0"]
        self.process = subprocess.Popen(
            [lamina, "serve", *map(str, models), *port, "--device", "cpu", *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"the server did not start: {self.process.stderr.read()}")
        self.port = int(self.url.rsplit(":", 1)[1])
        self.described = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def end(self, timeout=60):
        """Sends SIGTERM and returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def connection(self, timeout=120, address="127.0.0.1"):
        """Of a client that has this address."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=(address, 0))

    def document(self):
        """What the server says of itself: every response is checked against it."""
        if self.described is None:
            status, _, document = self.ask("GET", "/openapi.json", checked=False)
            assert status == 200, document
            self.described = Document(document)
        return self.described

    def ask(self, method, path, body=None, headers=None, address="127.0.0.1", checked=True):
        """The status, the headers and the body of a response; JSON is parsed."""
        asked = path
        connection = self.connection(address=address)
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            text = response.read()
            for path in self.paths: # what is where on the server is nobody's business
                assert path not in text, text
            kind = response.getheader("Content-Type", "")
            if kind.startswith("application/json") and method != "HEAD":
                text = json.loads(text)
            if checked:
                self.document().check(method, asked, response.status, kind, text)
            return response.status, response.headers, text
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, {"Content-Type": "application/json", **headers})


def server_of(tests, *arguments):
    """A server that ends when a class of tests has run."""
    server = Server(*arguments)
    tests.addClassCleanup(server.__exit__)
    return server


def with_words(name, folder, change=None):
    """A tiny untrained model in a folder, with the tokens w0 to w52 between blanks. BERT puts a text between two."""
    shutil.copytree(fixtures / name, folder)
    config = json.loads((folder / "config.json").read_text()) | (change or {})
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
                 "model": {"type": "WordLevel", "vocab": {f"w{i}": i for i in range(53)}, "unk_token": "w0"}}
    if config["model_type"] == "bert":
        tokenizer["post_processor"] = {"type": "BertProcessing", "sep": ["w2", 2], "cls": ["w1", 1]}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


def talking(folder, change=None):
    """The same of a Llama with a chat template."""
    with_words("llama", folder, change)
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}w{{ loop.index }} {{ m.content }} w40 {% endfor %}")
    (folder / "generation_config.json").write_text("{}")
    return folder


def spelling(folder):
    """A talking Llama whose tokens are characters, enough of them for JSON. It calls tools as Hermes and Qwen do."""
    talking(folder, {"max_position_embeddings": 1000})
    characters = '\n {}[]":,.-_/<>\\é' + "0123456789" + "abcdefghijklmnorstuvwxy" # there is no room for more
    tokens = ["<unk>", "<s>", "</s>", *characters]
    special = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokenizer = {"version": "1.0", "added_tokens": [{"id": i, "content": tokens[i], **special} for i in range(3)],
                 "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated",
                                   "invert": False},
                 "decoder": {"type": "Fuse"},
                 "model": {"type": "WordLevel", "vocab": {t: i for i, t in enumerate(tokens)}, "unk_token": "<unk>"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text("""{% if tools %}tools: {{ tools | tojson }}
{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}{% for call in m.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% if not loop.last %}{{ "\\n" }}{% endif %}{% endfor %}</s>
{% endfor %}{% if reasoning_effort %}effort: {{ reasoning_effort }}
{% endif %}{% if enable_thinking is false %}brief
{% endif %}{% if add_generation_prompt %}assistant: {% if think %}<think>
{% endif %}{% endif %}""")
    return folder


def wav(seconds):
    """The bytes of a file of a tone: 16-bit, 16 kHz, one channel."""
    samples = [int(13000 * math.sin(i * 0.3)) for i in range(int(seconds * 16000))]
    data = struct.pack(f"<{len(samples)}h", *samples)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16,
                       b"data", len(data))
    return head + data


def lamina_json(lamina, *arguments):
    """What a command prints as JSON."""
    done = subprocess.run([lamina, *map(str, arguments), "--device", "cpu", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"lamina {arguments[0]}: {done.stderr}")
    return json.loads(done.stdout)


def scored_answers(server, request):
    """The texts of a completion with logprobs, each with the log probabilities of its tokens."""
    status, _, found = server.post("/v1/completions", request)
    assert status == 200, found
    return [(each["text"], each["logprobs"]["token_logprobs"]) for each in found["choices"]]


class ScoredAnswers:
    """Of a test case that compares such answers."""

    def same(self, found, expected):
        self.assertEqual([text for text, _ in found], [text for text, _ in expected])
        for (_, a), (_, b) in zip(found, expected):
            for x, y in zip(a, b, strict=True):
                self.assertAlmostEqual(x, y, 3)
