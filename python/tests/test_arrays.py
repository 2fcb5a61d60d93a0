"""Graphs on arrays, and audio."""

import wave

import numpy as np
import pytest

import lamina
from lamina._arrays import as_input


class OfAnotherLibrary:
    """An array that has DLPack, and nothing of NumPy."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.fixture
def inputs(g2p):
    ids = np.array(g2p.tokenize(["vulkan"]), np.int32)
    return {"letters": ids, "lengths": np.array([ids.shape[1]], np.int32)}


def test_outputs_are_those_of_the_command(g2p, inputs, command, tmp_path):
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
    given = [argument for name in inputs for argument in ("--input", f"{name}={tmp_path}/{name}.npy")]
    tap = "encoder.0.attention.out"
    wanted = ["--output", f"memory={tmp_path}/memory.npy", "--tap", f"{tap}={tmp_path}/tap.npy"]
    command("run", lamina.models / "g2p", *given, "--graph", "encode", *wanted)
    out = g2p.run("encode", inputs, taps=["encoder.0.attention.*"])
    assert out["memory"].tobytes() == np.load(tmp_path / "memory.npy").tobytes()
    assert out[tap].tobytes() == np.load(tmp_path / "tap.npy").tobytes()
    assert tap not in g2p.run("encode", inputs)


def test_whatever_holds_numbers_is_an_input(g2p, inputs):
    expected = g2p.run("encode", inputs)["memory"]
    for convert in [
        lambda a: a.tolist(),
        lambda a: a.astype(np.int64),
        lambda a: a.astype(np.uint8),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        OfAnotherLibrary,
    ]:
        assert (g2p.run("encode", **{k: convert(v) for k, v in inputs.items()})["memory"] == expected).all()


def test_what_needs_no_copy_is_not_copied(g2p, inputs):
    for array in (np.zeros((2, 3), np.float32), np.zeros(4, np.int32)):
        assert as_input("x", array) is array
        assert np.shares_memory(as_input("x", OfAnotherLibrary(array)), array)
    out = g2p.run("encode", inputs)["memory"]
    assert not out.flags.owndata and out.flags.writeable  # the tensor that the library returned
    shared = np.from_dlpack(out)
    assert np.shares_memory(shared, out)
    before = out.copy()
    del out
    g2p.run("encode", inputs)
    assert (shared == before).all()  # keeps the memory alive, and nobody else writes there


def test_wrong_arrays_are_refused(g2p, inputs):
    letters, lengths = inputs["letters"], inputs["lengths"]
    for wrong, message in [
        ({"letters": letters.astype(np.float32)}, "expected i32, found f32"),
        ({"letters": letters[0]}, "letters"),
        ({"letters": letters.astype(np.int64) + 2**40}, "'letters': 10995116277.* does not fit int32"),
        ({"letters": [["v"]]}, "'letters': expected numbers"),
        ({"letters": [[1, 2], [3]]}, "'letters': expected an array"),
        ({"letters": letters * 1000}, "letters"),
        ({"lengths": lengths, "letters": letters, "more": lengths}, "more"),
    ]:
        with pytest.raises(lamina.InputError, match=message):
            g2p.run("encode", {**inputs, **wrong})
    with pytest.raises(lamina.InputError, match="lengths"):
        g2p.run("encode", letters=letters)
    with pytest.raises(lamina.InputError, match="has no graph 'encoder'"):
        g2p.run("encoder", inputs)
    with pytest.raises(lamina.InputError, match="nothing_like_it"):
        g2p.run("encode", inputs, taps=["nothing_like_it"])


@pytest.fixture
def speech():
    """A tone of 3000 samples, 16000 a second, as a file would hold it."""
    tone = np.sin(np.arange(3000) * 2 * np.pi * 700 / 16000)
    return (tone * 0.4 * 2**15).astype(np.int16)


def test_transcripts_are_those_of_the_command(fixture_model, command, speech, tmp_path):
    folder, file = fixture_model("whisper"), tmp_path / "tone.wav"
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16000)
        out.writeframes(speech.tobytes())
    model = lamina.load(folder, "cpu")
    expected = command("run", folder, file, "--max-length", 9)[0]
    found = model.transcribe(file, max_length=9)
    assert found.text == expected["output"] and len(found.parts) == 1
    assert found.parts[0].hypothesis.tokens == expected["parts"][0]["tokens"]
    samples = speech.astype(np.float32) / 2**15
    for same in (
        model.transcribe(samples, rate=16000, max_length=9),
        model.transcribe(lamina.read_audio(file), max_length=9),
        model.transcribe([str(file)], max_length=9)[0],
        model.transcribe(lamina.Audio(samples, 16000), max_length=9),
    ):
        assert same.text == found.text
    assert (lamina.read_audio(file).samples == samples).all()
    with pytest.raises(TypeError, match="needs its rate"):
        model.transcribe(samples)
    with pytest.raises(lamina.InputError):
        model.transcribe(tmp_path / "absent.wav")
    with pytest.raises(lamina.InputError):
        model.transcribe(np.full(3000, np.nan), rate=16000)
