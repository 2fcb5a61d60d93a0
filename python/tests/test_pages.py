"""Pages in, classes and answers out: what the command prints."""

import pickle

import numpy as np
import pytest

import lamina

from conftest import source

pages = source / "tests" / "architectures" / "pages"
question = "What is the total?"


def facts(scores):
    return [{"label": s.label, "score": s.score} for s in scores]


@pytest.fixture(scope="module")
def page():
    return lamina.Page(pages / "page.tsv", pages / "page.png")


def test_words_are_those_of_the_command(page, command):
    model = lamina.load(pages / "words", "cpu")
    expected = command("run", pages / "words", pages / "page.png")[0]["words"]
    found = model.label_words(page)
    assert [facts(each.labels) for each in found] == [word["labels"] for word in expected]
    assert [page.words[each.word].text for each in found] == [word["text"] for word in expected]
    again = lamina.Page([(word["text"], word["box"]) for word in expected], page.image.pixels)
    for words in model.label_words([again, page], batch=1):  # other batches may round otherwise
        assert [each.labels[0].label for each in words] == [each.labels[0].label for each in found]
        assert [each.labels[0].score for each in words] == pytest.approx([each.labels[0].score for each in found], 1e-4)
    assert facts(pickle.loads(pickle.dumps(found[0])).labels) == facts(found[0].labels)
    assert pickle.loads(pickle.dumps(page.words[0])).box == page.words[0].box == expected[0]["box"]
    with pytest.raises(lamina.UsageError):
        model.classify_pages(page)


def test_classes_and_answers_are_those_of_the_command(page, command):
    model = lamina.load(pages / "classes", "cpu")
    assert facts(model.classify_pages(page, truncate=True)) == command(
        "run", pages / "classes", pages / "page.png", "--truncate")[0]["labels"]
    with pytest.raises(lamina.InputError, match="truncate=True"):
        model.classify_pages([page])
    model = lamina.load(pages / "answers", "cpu")
    expected = command("run", pages / "answers", pages / "page.png", "--question", question, "--answers", "2")[0]["answers"]
    found = model.answer_page(page, question, best=2)
    assert [{"text": a.text, "first": a.first, "last": a.last, "score": a.score} for a in found] == expected
    assert [each[0].text for each in model.answer_page(page, [question, question])] == [expected[0]["text"]] * 2
    assert pickle.loads(pickle.dumps(found[0])).text == found[0].text


def test_bad_pages(page, tmp_path):
    model = lamina.load(pages / "words", "cpu")
    with pytest.raises(lamina.InputError, match="page 1: expected an image"):
        model.label_words(lamina.Page(page.words))
    with pytest.raises(lamina.InputError, match="1001"):
        model.label_words(lamina.Page([("dog", (0, 0, 1001, 5))], page.image))
    for box in (0.1, 0.2, 0.9, 0.9), (1, 2, 3), 5, "1234":
        with pytest.raises(TypeError, match=r"words\[0\]: expected a text and a box of four whole numbers"):
            lamina.Page([("dog", box)])
    with pytest.raises(TypeError, match=r"words\[1\]"):
        lamina.Page([("dog", (0, 0, 1, 1)), "dog"])
    with pytest.raises(TypeError, match=r"pages\[0\]"):
        model.label_words([pages / "page.png"])
    with pytest.raises(TypeError):
        lamina.Page(page.words, np.zeros((4, 5), np.float32))
    (tmp_path / "page.tsv").write_text("words\n")
    with pytest.raises(lamina.InputError, match="table of words"):
        lamina.Page(tmp_path / "page.tsv")
