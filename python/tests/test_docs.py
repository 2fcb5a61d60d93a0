"""The examples of docs/python.md run, and print what the page says."""

import doctest
import pathlib
import re

import pytest
from conftest import source

import lamina

page = (source / "docs" / "python.md").read_text()
sections = re.split(r"^## ", page, flags=re.MULTILINE)
named = {  # what the page calls the models of scripts/fetch-real-models
    "SmolLM2-135M-Instruct.Q4_1.gguf": "smollm2.gguf",
    "all-MiniLM-L6-v2": "minilm",
    "whisper-tiny.en": "whisper",
}


@pytest.mark.parametrize("section", sections, ids=[each.splitlines()[0] for each in sections])
def test_section(section, g2p, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, file in named.items():
        if name in section:
            pathlib.Path(name).symlink_to(trained(file))
    pathlib.Path("speech.wav").symlink_to(source / "tests" / "real_models" / "expected" / "speech.wav")
    test = doctest.DocTestParser().get_doctest(section, {"lamina": lamina, "model": g2p}, "python.md", None, 0)
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)
