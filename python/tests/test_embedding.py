"""The options of embed: prompts, lengths and widths of vectors, bars."""

import json
import sys
import types

import numpy as np
import pytest
from conftest import source

import lamina

sentences = source / "tests" / "architectures" / "sentences"
TEXTS = ["jumps", "five dozen", "my box"]


@pytest.fixture(scope="module")
def dense():
    """Its vectors are of length 1; it has the prompts "query" and "document"."""
    return lamina.load(sentences / "dense", "cpu")


@pytest.fixture(scope="module")
def older():
    """Its vectors are not of length 1, and it has a prompt by default."""
    return lamina.load(sentences / "older", "cpu")


def lengths(vectors):
    return np.linalg.norm(vectors, axis=-1)


def test_sparse_vectors_are_those_of_sentence_transformers():
    expected = json.loads((sentences / "expected.json").read_text())
    found = lamina.load(sentences / "sparse", "cpu").embed(expected["texts"], prompt_name="")
    np.testing.assert_allclose(found, expected["vectors"]["sparse"], atol=1e-5)


def test_vectors_of_tokens_and_scores_are_those_of_sentence_transformers():
    folder = sentences.parent / "token_vectors"
    expected = json.loads((folder / "expected.json").read_text())
    model, wanted = lamina.load(folder / "fixed", "cpu"), expected["models"]["fixed"]
    for name, texts in (("query", expected["queries"]), ("document", expected["documents"])):
        for found, of_text in zip(model.embed_tokens(texts, prompt_name=name, truncate=True), wanted[name]):
            np.testing.assert_allclose(found, of_text, atol=2e-5)
    assert model.embed_tokens("fox").shape[1] == 8
    found = model.classify_pairs([(expected["queries"][1], expected["documents"][2])])
    np.testing.assert_allclose(found[0][0].score, wanted["scores"][1][2], rtol=2e-5)


def test_vectors_have_the_length_1_if_asked(dense, older):
    plain = older.embed(TEXTS)
    assert (lengths(plain) > 1.2).all()
    assert older.embed(TEXTS, normalize=None).tobytes() == older.embed(TEXTS, normalize=False).tobytes() == plain.tobytes()
    unit = older.embed(TEXTS, normalize=True)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(unit, plain / lengths(plain)[:, None], atol=1e-6)
    np.testing.assert_allclose(older.embed(TEXTS[0], normalize=True), unit[0], atol=1e-6)
    np.testing.assert_allclose(lengths(dense.embed(TEXTS, normalize=False)), 1, atol=1e-6)  # by the model itself


def test_shorter_vectors_have_their_length_again_if_it_was_1(dense, older):
    plain, unit = older.embed(TEXTS), dense.embed(TEXTS)
    assert older.embed(TEXTS, dimensions=5).tobytes() == plain[:, :5].tobytes()
    assert dense.embed(TEXTS, dimensions=5, normalize=False).tobytes() == unit[:, :5].tobytes()
    for model, whole, options in [(dense, unit, {}), (older, plain, {"normalize": True})]:
        short = model.embed(TEXTS, dimensions=5, **options)
        assert short.shape == (3, 5)
        np.testing.assert_allclose(short, whole[:, :5] / lengths(whole[:, :5])[:, None], atol=1e-6)
    assert older.embed("jumps", dimensions=np.int64(5)).shape == (5,)
    for wrong in (0, 17, -1, 2.5, True):
        with pytest.raises(lamina.UsageError, match="dimensions: expected a number from 1 to 16, found"):
            older.embed(TEXTS, dimensions=wrong)


def test_prompts_are_those_of_the_models_files(dense, older):
    config = json.loads((sentences / "dense" / "config_sentence_transformers.json").read_text())
    assert dense.prompts == config["prompts"]
    expected = dense.embed("the fox: jumps")
    assert dense.embed("jumps", prompt_name="query").tobytes() == expected.tobytes()
    assert dense.embed("jumps", prompt="the fox: ").tobytes() == expected.tobytes()
    assert dense.embed("jumps", prompt_name=None, prompt=None).tobytes() == dense.embed("jumps").tobytes()
    plain = older.embed("jumps", prompt_name="")
    assert older.embed("jumps", prompt="").tobytes() == plain.tobytes() != older.embed("jumps").tobytes()
    with pytest.raises(lamina.UsageError, match="none that is called 'quary'; did you mean 'query'"):
        dense.embed("jumps", prompt_name="quary")
    with pytest.raises(lamina.UsageError, match="the name of a prompt of the model, 'the fox: '; pass prompt_name='query'"):
        dense.embed("jumps", prompt="query")
    with pytest.raises(lamina.UsageError, match="found both, 'query' and 'the fox: '"):
        dense.embed("jumps", prompt_name="query", prompt="the fox: ")


def test_no_texts_have_the_width_of_the_model(dense):
    assert dense.embed([]).shape == (0, dense.embed("jumps").shape[0])
    assert dense.embed([], dimensions=4, normalize=True).shape == (0, 4)


def test_a_batch_has_two_names(dense):
    calls = []
    dense.embed(TEXTS, batch_size=2, progress=lambda *counts: calls.append(counts))
    assert calls == [(2, 3), (3, 3)]
    with pytest.raises(TypeError, match="batch and batch_size are two names of one option"):
        dense.embed(TEXTS, batch_size=2, batch=2)


def test_options_of_other_packages_are_understood(dense):
    for other, ours in [
        ("normalize_embeddings", "normalize"),
        ("show_progress_bar", "show_progress"),
        ("truncate_dim", "dimensions"),
        ("normalise", "normalize"),
    ]:
        with pytest.raises(TypeError, match=f"no option '{other}'; did you mean '{ours}'"):
            dense.embed(TEXTS, **{other: 1})
    with pytest.raises(TypeError, match="no option 'prompt_text'"):
        dense.embed(TEXTS, prompt_text="x")
    with pytest.raises(TypeError, match="batch='many' has the wrong type"):
        dense.embed(TEXTS, batch="many")


def test_a_bar_shows_progress(dense, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n = total, 0
            bars.append(self)

        def update(self, count):
            self.n += count

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.is_closed = True

    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(tqdm=Bar))
    calls = []
    dense.embed(TEXTS, batch=2, show_progress=True, progress=lambda *counts: calls.append(counts))
    assert [(bar.total, bar.n, bar.is_closed) for bar in bars] == [(3, 3, True)] and calls == [(2, 3), (3, 3)]
    dense.embed(TEXTS, show_progress=False)
    assert len(bars) == 1
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(lamina.UsageError, match="the package tqdm is not installed; 'pip install tqdm'"):
        dense.embed(TEXTS, show_progress=True)


def test_the_bar_is_that_of_tqdm(dense, capsys):
    pytest.importorskip("tqdm")
    dense.embed(TEXTS, batch=2, show_progress=True)
    assert "embed: 100%" in capsys.readouterr().err


def test_what_is_no_text_is_named(dense):
    with pytest.raises(TypeError, match=r"texts\[1\]: expected a str, found 3"):
        dense.embed(["a", 3])
    with pytest.raises(TypeError, match=r"texts: expected a str or a list of them, found None"):
        dense.embed(None)
    with pytest.raises(TypeError, match=r"pairs\[0\]: expected two texts, found 'ab'"):
        dense.classify_pairs(["ab"])
    with pytest.raises(TypeError, match=r"pairs\[1\]\[1\]: expected a str, found None"):
        dense.classify_pairs([("a", "b"), ("a", None)])


def test_long_texts_are_read_in_windows(dense):
    long = "my box with five dozen liquor jugs jumps " * 60
    with pytest.raises(lamina.InputError, match=r"have it cut \(truncate=True\)"):
        dense.embed(long)
    with pytest.raises(lamina.InputError, match=r"texts\[1\]: character 3 is half of a pair of surrogates"):
        dense.embed(["a", "b \udc80"])
    vector = dense.embed(long, windows=True)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(vector, dense.embed(long, truncate=True), atol=1e-3)
    np.testing.assert_allclose(dense.embed(TEXTS, windows=True), dense.embed(TEXTS), atol=1e-6)
    with pytest.raises(lamina.UsageError, match="truncate: expected false"):
        dense.embed(long, windows=True, truncate=True)
