"""Texts as token ids, and back."""

import shutil

import numpy as np
import pytest
from conftest import source

import lamina


def test_ids_are_those_that_the_model_gets(g2p):
    assert g2p.encode("vulkan") == g2p.tokenize("vulkan")
    assert g2p.encode("") == [] and g2p.count_tokens("") == 0
    assert g2p.count_tokens("a" * 5000) == 5000  # more than the model takes
    best = g2p.hypotheses(["vulkan"])[0][0]
    assert g2p.decode(best.tokens) == best.text  # in the tokens that it writes
    with pytest.raises(lamina.InputError, match="'4' is not one of the 28 tokens"):
        g2p.encode("v4")


def test_special_tokens_are_chosen(fixture_model):
    model = lamina.load(fixture_model("bert_texts"), "cpu")
    assert model.encode("w7 w9") == [1, 7, 9, 2] == model.tokenize("w7 w9")
    assert model.encode("w7 w9", special_tokens=False) == [7, 9]
    assert (model.count_tokens("w7 w9"), model.count_tokens("w7 w9", special_tokens=False)) == (4, 2)
    assert model.decode(np.array([7, 9])) == "w7 w9"


def test_a_prompt_is_not_counted():
    older = lamina.load(source / "tests" / "architectures" / "sentences" / "older", "cpu")
    assert older.count_tokens("jumps") < len(older.tokenize("jumps"))


def test_trained_models_give_back_their_texts(trained):
    text = "Ann's café: 3 × 4 = 12.\n\n    return 🙂"
    for name in ("smollm2.gguf", "whisper"):
        model = lamina.load(trained(name), "cpu")
        ids = model.encode(text, special_tokens=False)
        assert model.decode(ids) == text and model.count_tokens(text, special_tokens=False) == len(ids)
    smollm = lamina.load(trained("smollm2.gguf"), "cpu")
    prompt = smollm.chat_prompt("Hello")
    assert "<|im_start|>" in prompt
    ids = smollm.encode(prompt, special_tokens=False)
    assert smollm.decode(ids, skip_special_tokens=False) == prompt
    assert "<|im_start|>" not in smollm.decode(ids)
    minilm = lamina.load(trained("minilm"), "cpu")
    assert minilm.decode(minilm.encode("It rains in Paris.")) == "it rains in paris."
    assert minilm.decode(minilm.encode("It rains."), skip_special_tokens=False).startswith("[CLS]")


def test_what_is_no_text_is_refused(g2p):
    with pytest.raises(TypeError, match=r"text: expected a str, found \['vulkan'\]"):
        g2p.encode(["vulkan"])
    for wrong, why in [
        ("vulkan", r"ids\[0\]: expected a token id, found 'v'"),
        ([1, 2.5], r"ids\[1\]: expected a token id, found 2.5"),
        ([1 << 40], r"ids\[0\]: expected a token id, found 1099511627776"),
        (None, "ids: expected a list of token ids, found None"),
    ]:
        with pytest.raises(TypeError, match=why):
            g2p.decode(wrong)
    with pytest.raises(lamina.InputError, match="no token has the id 5000"):
        g2p.decode([5000])


def test_a_model_without_tokens_says_so(tmp_path):
    architectures = source / "tests" / "architectures"
    for folder in ("models", "images"):
        shutil.copytree(architectures / folder / "vit", tmp_path / "vit", dirs_exist_ok=True)
    vit = lamina.load(tmp_path / "vit", "cpu")
    for use in (lambda: vit.encode("w7"), lambda: vit.decode([7])):
        with pytest.raises(lamina.UsageError, match="has no tokens: it "):
            use()
