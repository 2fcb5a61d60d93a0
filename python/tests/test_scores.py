"""How likely tokens were, and what changes it."""

import math
import sys

import pytest
from conftest import source

import lamina

sys.path[:0] = [str(source / "tests" / "serve")]
from server import spelling  # noqa: E402


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    return lamina.load(spelling(tmp_path_factory.mktemp("models") / "spelling"), device="cpu")


def test_scores_add_up(speller):
    found = speller.hypotheses(["a:"], likeliest=2, max_length=6)[0][0]
    assert [each.token for each in found.scores] == found.tokens
    assert sum(each.log_probability for each in found.scores) == pytest.approx(found.log_probability, abs=1e-3)
    assert b"".join(each.text for each in found.scores).decode() == found.text
    for each in found.scores: # greedy
        assert [len(each.likeliest), each.likeliest[0].token] == [2, each.token]
        assert each.likeliest[1].log_probability <= each.log_probability
    assert "TokenScore" in repr(found.scores[0].likeliest[0])
    assert not speller.hypotheses(["a:"], max_length=6)[0][0].scores


def test_options_make_tokens_likelier_or_not(speller):
    first = speller.hypotheses(["a:"], max_length=1)[0][0].tokens[0]
    others = speller.hypotheses(["a:"], max_length=5, biases={first: -math.inf})[0][0].tokens
    assert first not in others
    assert speller.hypotheses(["a:"], max_length=3, biases={first: 1000.0})[0][0].tokens == [first] * 3
    # Two tokens of which each would be repeated for ever, if DRY did not look at them.
    options = {"max_length": 20, "biases": {first: 1000.0}}
    assert len(set(speller.hypotheses(["a:"], **options)[0][0].tokens)) == 1
    assert len(set(speller.hypotheses(["a:"], dry_multiplier=100.0, dry_base=3.0, **options)[0][0].tokens)) > 1
    with pytest.raises(TypeError, match="did you mean 'biases'"):
        speller.generate("a:", logit_bias={first: 1})
    with pytest.raises(lamina.UsageError, match="xtc_probability: expected a number from 0 to 1"):
        speller.generate("a:", temperature=1.0, xtc_probability=2.0)


def test_every_number_of_sampling_is_an_option():
    known = lamina.GenerateOptions.__annotations__
    assert not [name for name in lamina._lamina.sampling_options if name not in known]


def test_prompts_have_scores(speller):
    """Each token as if it were the answer to those before it."""
    text = "a: b,c"
    found = speller.hypotheses([text], likeliest=1, prompt_scores=True, max_length=2)[0][0]
    assert b"".join(each.text for each in found.prompt_scores).decode() == text[1:]
    for i, score in enumerate(found.prompt_scores):
        forced = speller.hypotheses([text[: i + 1]], likeliest=1, max_length=1, biases={score.token: 1000.0})[0][0]
        assert score.log_probability == pytest.approx(forced.scores[0].log_probability, abs=1e-4)
        assert score.likeliest[0].token == forced.scores[0].likeliest[0].token
    assert not speller.hypotheses([text], likeliest=1, max_length=2)[0][0].prompt_scores
    with pytest.raises(lamina.UsageError, match="prompt_scores: expected it with likeliest"):
        speller.generate(text, prompt_scores=True)
    with pytest.raises(TypeError, match="did you mean 'prompt_scores'"):
        speller.generate(text, prompt_logprobs=1)


def test_mirostat_is_sampled(speller):
    options = {"temperature": 1.0, "mirostat": 2, "seed": 3, "max_length": 12, "likeliest": 0}
    mean = {}
    for tau in (0.5, 4.0):
        found = speller.hypotheses(["a:"] * 8, mirostat_tau=tau, mirostat_eta=0.5, **options)
        scores = [score for each in found for score in each[0].scores]
        mean[tau] = -sum(s.log_probability for s in scores) / len(scores) / math.log(2)
    assert mean[0.5] + 1 < mean[4.0]
    with pytest.raises(lamina.UsageError, match="mirostat: expected 0 or 2, found 1"):
        speller.generate("a:", temperature=1.0, mirostat=1)
