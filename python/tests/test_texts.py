"""Texts give what the command gives, bit for bit."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import _lamina

WORDS = ["vulkan", "transformer", "hello", "pronunciation", "a", "synchronization"]


def facts(hypothesis):
    h = hypothesis
    return {
        "output": h.text,
        "log_probability": h.log_probability,
        "score": h.score,
        "tokens": h.tokens,
        "finish": h.finish,
    }


def test_generated_texts_are_those_of_the_command(g2p, command):
    for options, arguments in [
        ({}, []),
        ({"beams": 3}, ["--beams", 3]),
        ({"temperature": 1.5, "seed": 7}, ["--temperature", 1.5, "--seed", 7]),
    ]:
        found = [[facts(h) for h in each] for each in g2p.hypotheses(WORDS, **options)]
        expected = command("run", lamina.models / "g2p", *WORDS, *arguments)
        assert found == [each["hypotheses"] for each in expected]
        assert g2p.generate(WORDS, **options) == [each["output"] for each in expected]


def test_one_text_gives_one_result(g2p):
    assert g2p.generate("vulkan") == "V AH1 L K AH0 N"
    assert g2p.generate(["vulkan"]) == ["V AH1 L K AH0 N"]
    assert g2p.generate([]) == []
    assert g2p.generate("") == ""
    assert g2p.tokenize("vulkan") == g2p.tokenize(["vulkan"])[0]


def test_pieces_come_one_by_one_and_are_the_text(g2p):
    pieces = list(g2p.stream("vulkan"))
    assert len(pieces) == 6 and "".join(pieces) == "V AH1 L K AH0 N"
    called = []
    g2p.generate(["vulkan", "a"], stream=lambda text, piece: called.append((text, piece)))
    assert "".join(piece for text, piece in called if text == 0) == "V AH1 L K AH0 N"
    assert {text for text, _ in called} == {0, 1}


def test_a_stream_that_is_left_ends_the_generation(fixture_model):
    endless = fixture_model("llama", {"eos_token_id": None, "max_position_embeddings": 10**6})
    model = lamina.load(endless, "cpu")
    stream = model.stream("w7", max_length=10**6)
    first = next(stream)
    stream.close()  # waits for the end of the generation
    assert first.startswith(" w")
    assert model.generate("w7", max_length=1) == first


def test_an_error_in_a_stream_reaches_the_loop(g2p):
    with pytest.raises(lamina.InputError, match="'4' is not one of"):
        list(g2p.stream("v4"))


def test_an_error_in_a_callback_ends_the_call(g2p):
    def fail(text, piece):
        raise KeyError(piece)

    with pytest.raises(KeyError, match="V"):
        g2p.generate("vulkan", stream=fail)
    with pytest.raises(lamina.UsageError, match="a callback cannot use the session"):
        g2p.generate("vulkan", stream=lambda text, piece: g2p.generate("a"))
    assert g2p.generate("vulkan") == "V AH1 L K AH0 N"


def test_progress_is_reported(g2p):
    done = []
    g2p.generate(WORDS, batch=2, progress=lambda *counts: done.append(counts))
    assert done == [(2, 6), (4, 6), (6, 6)]


def test_a_chat_uses_the_template_of_the_model(fixture_model):
    template = "{% for m in messages %}{{ m.role == 'user' and 'w5 ' or 'w6 ' }}{{ m.content }} {% endfor %}w7"
    folder = fixture_model("llama", {"eos_token_id": None}, {"chat_template.jinja": template})
    model = lamina.load(folder, "cpu")
    said = [{"role": "user", "content": "w9"}, {"role": "assistant", "content": "w8"}]
    assert model.chat_prompt(said) == "w5 w9 w6 w8 w7"
    answer = model.chat(said, max_length=5)
    assert answer == model.generate("w5 w9 w6 w8 w7", max_length=5)
    assert "".join(model.stream_chat(said, max_length=5)) == answer
    assert model.chat("w9", max_length=2) == model.generate("w5 w9 w7", max_length=2)
    with pytest.raises(lamina.UsageError, match="template"):
        lamina.load(fixture_model("llama"), "cpu").chat("w9")


def test_vectors_are_those_of_the_command(fixture_model, command, tmp_path):
    folder = fixture_model("sentences")
    texts = ["w5 w6", "w7", "w8 w9 w10 w11 w12"]
    found = lamina.load(folder, "cpu").embed(texts)
    command("run", folder, *texts, "--output", f"embedding={tmp_path}/v.npy")
    expected = np.load(tmp_path / "v.npy")
    assert found.dtype == np.float32 and found.tobytes() == expected.tobytes() and found.shape == expected.shape
    assert lamina.load(folder, "cpu").embed("w7").shape == found.shape[1:]


def test_trained_models_give_what_the_command_gives(trained, command, tmp_path):
    texts = ["A man is playing a guitar.", "It rains in Paris."]
    command("run", trained("minilm"), *texts, "--output", f"embedding={tmp_path}/v.npy")
    assert lamina.load(trained("minilm"), "cpu").embed(texts).tobytes() == np.load(tmp_path / "v.npy").tobytes()
    prompt = "The capital of France is"
    expected = command("run", trained("smollm2.gguf"), prompt, "--max-length", 6)[0]["hypotheses"]
    found = lamina.load(trained("smollm2.gguf"), "cpu").hypotheses([prompt], max_length=6)[0]
    assert [facts(h) for h in found] == expected


def test_classes_are_those_of_the_command(fixture_model, command):
    folder, texts = fixture_model("bert_texts"), ["w7 w9", "w3"]
    model = lamina.load(folder, "cpu")
    found = [[{"label": s.label, "score": s.score} for s in each] for each in model.classify(texts)]
    assert found == [each["labels"] for each in command("run", folder, *texts)]
    alone = command("run", folder, "w3")[0]["labels"]
    assert [(s.label, s.score) for s in model.classify("w3")] == [(s["label"], s["score"]) for s in alone]
    with pytest.raises(lamina.UsageError):
        model.embed("w7")


def test_classes_of_pairs_are_those_of_the_command(fixture_model, command):
    folder, pairs = fixture_model("bert_texts"), [("w7 w9", "w11"), ("w3", "w5 w6")]
    found = lamina.load(folder, "cpu").classify_pairs(pairs)
    expected = command("run", folder, "--pairs", *[text for pair in pairs for text in pair])
    assert [[{"label": s.label, "score": s.score} for s in each] for each in found] == [e["labels"] for e in expected]


def test_a_reranker_is_told_what_is_asked_for():
    folder = Path(__file__).parents[2] / "tests" / "architectures" / "sentences" / "asked"
    model = lamina.load(folder, "cpu")
    assert model.prompts == {"fox": "a quick fox"}

    def score(**options):
        return model.classify_pairs([("a fox", "the dog")], **options)[0][0].score

    assert score() == score(prompt_name="fox") == score(prompt="a quick fox")
    assert score(prompt="lazy dogs") == score(prompt_name="") != score()


def test_answers_are_those_of_the_command(command):
    folder = Path(__file__).parents[2] / "tests" / "architectures" / "answers" / "bert"
    pair = ("Who jumps?", "The quick brown fox jumps over the lazy dog.")
    found = lamina.load(folder, "cpu").answer([pair], best=3)[0]
    expected = command("run", folder, "--pairs", "--answers", 3, *pair)[0]["answers"]
    assert [{"text": a.text, "begin": a.begin, "end": a.end, "score": a.score} for a in found] == expected
    assert pair[1][found[0].begin : found[0].end] == found[0].text


def test_words_for_masks_are_those_of_the_command(command):
    folder = Path(__file__).parents[2] / "tests" / "architectures" / "masks" / "bert"
    text = "a [MASK] box [MASK], the cat"
    model = lamina.load(folder, "cpu")
    found = model.fill_masks(text, best=3)
    expected = command("run", folder, "--answers", 3, text)[0]["masks"]
    assert [
        {
            "begin": mask.begin,
            "end": mask.end,
            "words": [{"word": word.word, "token": word.token, "score": word.score} for word in mask.words],
        }
        for mask in found
    ] == expected
    assert [len(masks) for masks in model.fill_masks([text, "[MASK]"])] == [2, 1]
    assert repr(found[0].words[0]) in repr(found[0])


def test_labels_of_texts_are_those_of_the_command(command):
    folder = Path(__file__).parents[2] / "tests" / "architectures" / "matches" / "bert"
    texts, labels = ["the cat", "a box, five jugs!"], ["animals", "boxes"]
    model = lamina.load(folder, "cpu")
    several = ({"multi_label": True, "sentence": "It is {}."}, ["--multi-label", "--sentence", "It is {}."])
    for options, flags in [({}, []), several]:
        expected = command("run", folder, "--labels", "animals, boxes", *flags, *texts)
        found = model.match_texts(texts, labels, **options)
        assert [[{"label": each.label, "score": each.score} for each in text] for text in found] == [
            text["labels"] for text in expected
        ]
    assert model.match_texts(texts[0], labels)[0].label in labels


def test_classes_of_tokens_are_those_of_the_command(fixture_model, command):
    folder, text = fixture_model("bert_tokens"), "w7 w9  w11"
    found = lamina.load(folder, "cpu").label_tokens(text)
    expected = command("run", folder, text)[0]["tokens"]
    assert [(t.token, t.begin, t.end, t.labels[0].score) for t in found] == [
        (t["token"], t["begin"], t["end"], t["labels"][0]["score"]) for t in expected
    ]


def test_wrong_options_are_type_errors(g2p):
    with pytest.raises(TypeError, match="no option 'temprature'; did you mean 'temperature'"):
        g2p.generate("a", temprature=1)
    for other, ours in [("max_tokens", "max_length"), ("max_new_tokens", "max_length"), ("temp", "temperature")]:
        with pytest.raises(TypeError, match=f"no option '{other}'; did you mean '{ours}'"):
            g2p.generate("a", **{other: 1})
    with pytest.raises(TypeError, match="no option 'colour'; there are batch, beams"):
        g2p.generate("a", colour=1)
    with pytest.raises(TypeError, match="beams='many' has the wrong type"):
        g2p.generate("a", beams="many")
    with pytest.raises(lamina.UsageError, match="beams"):
        g2p.generate("a", beams=-1)


@pytest.mark.parametrize("name", ["GenerateOptions", "ReadOptions", "EmbedOptions"])
def test_options_are_documented_and_those_of_the_library(name):
    options = getattr(lamina, name)
    known = set(options.__annotations__)
    if name == "GenerateOptions":
        assert known == {each for each in dir(_lamina.GenerateOptions) if not each.startswith("_")}
    lines = inspect.cleandoc(options.__doc__).splitlines()  # Python 3.13 has removed the indentation already
    assert known <= {each for line in lines if not line.startswith(" ") for each in line.split(", ")}
