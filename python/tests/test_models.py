"""The life of a model: how it is closed, where it is loaded again, and the version of the package."""

import asyncio
import gc
import importlib.metadata
import os
import pickle
import subprocess
import weakref

import numpy as np
import pytest
from conftest import source

import lamina

G2P = lamina.models / "g2p"
ADAPTERS = source / "tests" / "architectures" / "adapters"


def test_the_version_is_that_of_the_sources_and_of_the_package():
    (line,) = [each for each in (source / "CMakeLists.txt").read_text().splitlines() if "Lamina VERSION" in each]
    assert f"Lamina VERSION {lamina.__version__}" in line
    assert lamina.__version__ == importlib.metadata.version("lamina")
    said = subprocess.run([os.environ["LAMINA_COMMAND"], "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["lamina", lamina.__version__]


def test_a_block_closes_its_model():
    with lamina.load(G2P, "cpu") as model:
        assert model.generate("vulkan") == "V AH1 L K AH0 N"
        assert not model.closed
    assert model.closed
    assert (model.name, model.path, model.device.id) == ("g2p", G2P, "cpu")
    assert repr(model) == "<lamina.Model g2p, closed>" and "closed" in model._repr_html_()


def test_a_closed_model_says_so():
    model = lamina.load(G2P, "cpu")
    stream = model.stream("vulkan")  # of which nothing has been read
    model.close()
    model.close()
    for use in [
        lambda: model.generate("a"),
        lambda: model.stream("a"),
        lambda: list(stream),
        lambda: model.tokenize("a"),
        lambda: model.encode("a"),
        lambda: model.embed("a"),
        lambda: model.run("encode", letters=[[1]], lengths=[1]),
        lambda: model.run("encode", letters=[[1]], lengths=[1], taps=["*"]),
        lambda: model.graphs,
        lambda: model.parts,
        lambda: model.__enter__(),
        lambda: pickle.dumps(model),
        lambda: lamina.compare(model),
    ]:
        with pytest.raises(lamina.UsageError, match="the model g2p is closed: load it again"):
            use()


def test_a_model_that_nobody_has_is_gone():
    model = lamina.load(G2P, "cpu")
    model.generate("vulkan", stream=lambda *_: model)
    asyncio.run(model.generate_async("vulkan"))
    with pytest.raises(lamina.InputError):
        list(model.stream("v4"))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_closing_frees_memory(trained):
    path = trained("minilm")
    lamina.load(path, "cpu").close()  # what is loaded once, such as plugins
    for size in range(3):
        model = lamina.load(path, "cpu")
        model.embed(["It rains in Paris."])
        before = resident()
        model.close()
        assert before - resident() > 40 << 20  # of 91 MB; words that no text has had stay in the file


def test_closing_ends_streams(fixture_model):
    endless = fixture_model("llama", {"eos_token_id": None, "max_position_embeddings": 10**6})
    model = lamina.load(endless, "cpu")
    stream = model.stream("w7", max_length=10**6)
    next(stream)
    model.close()  # waits for the end of the generation
    with pytest.raises(lamina.UsageError, match="was closed while it generated"):
        list(stream)


def test_a_callback_may_close_the_model():
    model = lamina.load(G2P, "cpu")
    assert model.generate("vulkan", stream=lambda text, piece: model.close()) == "V AH1 L K AH0 N"
    assert model.closed


def test_a_pickled_model_is_loaded_again(g2p, tmp_path, monkeypatch):
    monkeypatch.chdir(G2P.parent)
    model = lamina.load("g2p", "cpu", fusion=False, variants={"softmax": "cpu_fallback"}, plugin_folders=tmp_path)
    pickled = pickle.dumps(model)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(pickled)
    assert again is not model and again._loaded == model._loaded
    assert again._loaded.how.fusion is False and again._loaded.plugin_folders == (str(tmp_path),)
    assert again.device.id == "cpu" and again.generate("vulkan") == model.generate("vulkan")


def test_adapters_are_merged_and_pickled_with_the_model(fixture_model, tmp_path, monkeypatch):
    llama, adapter = fixture_model("llama"), ADAPTERS / "llama"
    monkeypatch.chdir(ADAPTERS)
    logits = lambda lora: lamina.load(llama, "cpu", lora=lora).run("decode", ids=[[3, 4, 5]], position=[0])["logits"]
    plain, whole = logits(()), logits("llama")
    assert abs(whole - plain).max() > 1e-2
    for lora in ([adapter], {adapter: 1}, {adapter: 0.25, "llama": 0.75}):
        assert abs(logits(lora) - whole).max() < 1e-4 * abs(whole).max()
    model = lamina.load(llama, "cpu", lora={"llama": 0.5})
    pickled = pickle.dumps(model)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled)._loaded.lora == ((str(adapter), 0.5),)
    with pytest.raises(lamina.InputError, match="is it for another model"):
        lamina.load(llama, "cpu", lora=ADAPTERS / "gpt2")


def test_a_draft_leaves_texts_as_they_are(fixture_model):
    llama = fixture_model("llama")
    drafted = lamina.load(llama, "cpu", draft=llama)
    options = {"max_length": 20, "ignore_end": True}
    assert drafted.generate("w7 w9", **options) == lamina.load(llama, "cpu").generate("w7 w9", **options)
    assert pickle.loads(pickle.dumps(drafted))._loaded.draft == str(llama)
    with pytest.raises(lamina.InputError, match="expected a model without an encoder"):
        lamina.load(llama, "cpu", draft=G2P)


def test_another_process_gets_models_and_gives_results(script, fixture_model):
    bert = fixture_model("bert_texts")
    program = script(f"""
import multiprocessing
import lamina

def main():
    model, bert = lamina.load(lamina.models / "g2p", "cpu"), lamina.load({str(bert)!r}, "cpu")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(model.generate, ["vulkan", "world"]) == ["V AH1 L K AH0 N", "W ER1 L D"]
        found, expected = pool.apply(bert.classify, ["w3"]), bert.classify("w3")
        assert [(s.label, s.score) for s in found] == [(s.label, s.score) for s in expected]
    print("done")

if __name__ == "__main__":
    main()
""")
    out, errors = program.communicate(timeout=120)
    assert (out, program.returncode) == ("done\n", 0), errors


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_results_are_pickled_with_all_they_hold(g2p, trained, fixture_model):
    (best,) = g2p.hypotheses(["vulkan"], likeliest=2)[0]
    same = again(best)
    for name in ("text", "tokens", "log_probability", "score", "finish", "reused"):
        assert getattr(same, name) == getattr(best, name)
    assert repr(same.scores) == repr(best.scores) and same.scores[0].text == best.scores[0].text
    assert repr(same.scores[0].likeliest) == repr(best.scores[0].likeliest)
    (token, *_) = lamina.load(fixture_model("bert_tokens"), "cpu").label_tokens("w7 w9  w11")
    assert (again(token).token, again(token).begin, again(token).end) == (token.token, token.begin, token.end)
    assert repr(again(token).labels) == repr(token.labels)
    folders = source / "tests" / "architectures"
    (masked,) = lamina.load(folders / "masks" / "bert", "cpu").fill_masks("a [MASK] box")
    assert repr(again(masked)) == repr(masked) and again(masked).begin == masked.begin == 2
    pair = ("Who jumps?", "The quick brown fox jumps over the lazy dog.")
    ((answer,),) = lamina.load(folders / "answers" / "bert", "cpu").answer([pair])
    assert repr(again(answer)) == repr(answer) and again(answer).end == answer.end
    heard = lamina.load(trained("whisper"), "cpu").transcribe(folders.parent / "real_models/expected/speech.wav")
    assert repr(again(heard).parts) == repr(heard.parts) and again(heard).text == heard.text
    spelling = lamina.load(folders / "speech" / "wav2vec2", "cpu")
    timed = spelling.transcribe(np.sin(np.arange(9000)), 16000, timestamps="words")
    assert repr(again(timed).segments) == repr(timed.segments)
    assert again(timed).segments[0].tokens == timed.segments[0].tokens and timed.segments[0].begin < timed.segments[0].end
    assert timed.srt().startswith("1\n00:00:00,") and timed.vtt().startswith("WEBVTT\n\n00:00:00.")
    with pytest.raises(ValueError, match="timestamps: expected 'segments', 'words' or 'characters'"):
        spelling.transcribe(np.zeros(9000), 16000, timestamps="tokens")


def test_speech_is_transcribed_as_it_comes():
    folders = source / "tests" / "architectures"
    spelling = lamina.load(folders / "speech" / "wav2vec2", "cpu")
    tone, silence = np.sin(np.arange(16000)) / 4, np.zeros(24000)
    samples = np.concatenate([silence, tone, silence, tone]).astype(np.float32)
    chunks = iter(np.split(samples, 100))
    said = spelling.listen(chunks)
    first = next(said)
    assert len(list(chunks)) > 10  # the rest had not come
    assert abs(first.parts[0].begin - 1.3) < 0.03 and abs(first.parts[0].end - 2.7) < 0.03
    assert list(said) == []
    both = list(spelling.listen(np.split(samples, 10)))
    assert len(both) == 2 and both[0].text == first.text
    heard = spelling.transcribe(samples, 16000, skip_silence=True)
    assert abs(heard.parts[0].begin - 1.3) < 0.03
