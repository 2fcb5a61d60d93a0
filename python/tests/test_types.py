"""The package has types, which a checker understands."""

import inspect
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
scores: List[List[lamina.LabelScore]] = model.classify(["a"], batch=2)
ids: List[int] = model.tokenize("a")
several_ids: List[List[int]] = model.tokenize(["a"])
text: str = model.decode(model.encode("a"))
count: int = model.count_tokens("a", special_tokens=False)
token: str = model.label_tokens("a")[0].labels[0].label
words: List[List[lamina.WordScore]] = [mask.words for mask in model.fill_masks("a")]
matched: List[lamina.LabelScore] = model.match_texts("a", ["b"], multi_label=True)
heard: str = model.transcribe("a.wav", choices={"language": "en"}).text
parts: List[lamina.TranscriptPart] = model.transcribe(["a.wav"])[0].parts
segments: List[lamina.TranscriptSegment] = model.transcribe("a.wav", timestamps="segments").segments
seen: lamina.LabelScore = model.classify_images("a.png")[0]
model.embed(["a"], normalize=True, batch_size=8, dimensions=64, prompt_name="query", show_progress=None)
model.chat([{"role": "user", "content": "a"}], temperature=0)
with lamina.load("g2p") as other:
    closed: bool = other.closed


async def awaited() -> None:
    one: str = await model.generate_async("a", seed=1)
    several: List[str] = await model.generate_async(["a"])
    async for piece in model.stream_chat_async("a"):
        print(piece.upper())
    labels: List[lamina.LabelScore] = await model.classify_async("a")
    heard: lamina.Transcript = await model.transcribe_async("a.wav")
    print((await model.embed_async("a")).shape)


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
    'model.classify("a")[0].label.score': 'has no attribute "score"',
    'model.tokenize("a").upper()': 'has no attribute "upper"',
    'model.transcribe("a.wav").txt': 'has no attribute "txt"',
    'model.label_tokens("a").upper()': 'has no attribute "upper"',
    'model.fill_masks("a").upper()': 'has no attribute "upper"',
    'model.match_texts("a", ["b"]).upper()': 'has no attribute "upper"',
    'model.classify_images("a").upper()': 'has no attribute "upper"',
    'model.embed("a", normalize="yes")': "[",
    'model.chat([3])': "[list-item]",
    'model.generate_async("a").upper()': 'has no attribute "upper"',
    'model.stream_async("a").upper()': 'has no attribute "upper"',
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


def public():
    """Every function, method and property that people call, with its name."""
    for name in lamina.__all__:
        value = getattr(lamina, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, Exception):
            for each, member in inspect.getmembers(value):
                function = member.fget if isinstance(member, property) else member
                if not each.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{each}", function


def test_nothing_that_is_called_returns_any():
    found = dict(public())
    assert {"load", "check", "Model.classify", "Model.parts", "Model.stream_async", "CheckReport.results"} <= set(found)
    for name, function in found.items():
        returned = str(function.__annotations__.get("return", "nothing"))
        assert "nothing" not in returned and "Any" not in returned, f"{name} -> {returned}"


def test_the_package_has_stubs():
    folder = pathlib.Path(lamina.__file__).parent
    assert (folder / "py.typed").exists() and "class Device" in (folder / "_lamina.pyi").read_text()
