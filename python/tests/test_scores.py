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
