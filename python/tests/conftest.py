"""What tests share. $LAMINA_COMMAND is the `lamina` command that results are compared with."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import lamina

source = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def g2p():
    return lamina.load(lamina.models / "g2p", device="cpu")


@pytest.fixture(scope="session")
def command():
    """Runs the command, and returns what it prints as JSON."""

    def run(*arguments, device="cpu"):
        on = ["--device", device] if device else []
        line = [os.environ["LAMINA_COMMAND"], *map(str, arguments), "--json", *on]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def trained():
    """A model of scripts/fetch-real-models."""

    def path(name):
        models = pathlib.Path(os.environ.get("LAMINA_MODELS", "absent"))
        if not (models / name).exists():
            pytest.skip(f"models with trained weights: no {name}; scripts/fetch-real-models downloads them")
        return models / name

    return path


@pytest.fixture
def script(tmp_path):
    """Starts a program in Python, with pipes."""
    started = []

    def start(text):
        file = tmp_path / "script.py"
        file.write_text(text)
        pipe = subprocess.PIPE
        started.append(subprocess.Popen([sys.executable, "-u", file], stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for program in started:
        program.kill()  # does nothing to one that has ended
        program.wait()


@pytest.fixture(scope="session")
def fixture_model(tmp_path_factory):
    """A tiny model of tests/architectures with a tokenizer: words "w0" to "w52" between spaces."""

    def make(name, config={}, files={}):
        folder = tmp_path_factory.mktemp(name) / name
        shutil.copytree(source / "tests" / "architectures" / "models" / name, folder)
        changed = {**json.loads((folder / "config.json").read_text()), **config}
        (folder / "config.json").write_text(json.dumps(changed))
        bert = {"type": "BertProcessing", "sep": ["w2", 2], "cls": ["w1", 1]}
        tokenizer = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": bert if changed["model_type"] == "bert" else None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": {f"w{i}": i for i in range(53)}, "unk_token": "w0"},
        }
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        for file, text in files.items():
            (folder / file).write_text(text)
        return folder

    return make


@pytest.fixture(scope="module")
def endless_folder(fixture_model):
    """A model that writes for ever, or for minutes at least."""
    return fixture_model(
        "llama",
        {"eos_token_id": None, "max_position_embeddings": 10**6},
        {"chat_template.jinja": "{% for m in messages %}{{ m.content }} {% endfor %}"},
    )
