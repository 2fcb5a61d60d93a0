"""The package has types, which a checker understands."""

import pathlib
import subprocess
import sys

import pytest

import lamina

pytest.importorskip("mypy")

PROGRAM = """
from typing import List
import lamina

model = lamina.load("g2p", device="cpu")
one: str = model.generate("vulkan", beams=2, stop=["x"])
several: List[str] = model.generate(["vulkan"])
for piece in model.stream("vulkan", max_length=3):
    print(piece.upper())
width: int = model.embed(["a"], truncate=True).shape[1]
score: float = model.classify("a")[0].score
outputs = model.run("encode", letters=[[1, 2]], taps=["*"])
print(outputs["memory"].shape, model.device.memory_bytes + 1)
report = lamina.check("softmax", device="cpu")
ratio: float = report.results[0].verdict.ratio
"""


WRONG = {
    'model.generate("a", beams="two")': "No overload variant",
    'model.generate("a", temprature=1)': "[call-", # "overload" or "arg", by the version of mypy
    "report.result": '"CheckReport" has no attribute "result"',
    'model.generate(["a"]).upper()': 'has no attribute "upper"',
}


def test_mistakes_are_found_and_nothing_else(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + "\n".join(WRONG))
    line = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "program.py"]
    found = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path).stdout
    first = PROGRAM.count("\n") + 1
    assert {text.split(":")[1] for text in found.splitlines() if ": error:" in text} == {
        str(first + i) for i in range(len(WRONG))
    }, found
    for i, message in enumerate(WRONG.values()):
        assert any(text.startswith(f"program.py:{first + i}:") and message in text for text in found.splitlines()), (
            found
        )


def test_the_package_has_stubs():
    folder = pathlib.Path(lamina.__file__).parent
    assert (folder / "py.typed").exists() and "class Device" in (folder / "_lamina.pyi").read_text()
