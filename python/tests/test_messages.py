"""Conversations: how messages are told, and what is said of wrong ones."""

import pytest

import lamina


@pytest.fixture(scope="module")
def model(fixture_model):
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    return lamina.load(fixture_model("llama", {}, {"chat_template.jinja": template}), "cpu")


def test_contents_are_texts_or_parts(model):
    assert model.chat_prompt("w9") == "user: w9\n"
    parts = [{"type": "text", "text": "w1 "}, {"type": "text", "text": "w2"}]
    said = ({"role": "system", "content": "w3"}, {"role": "user", "content": parts})
    assert model.chat_prompt(said) == "system: w3\nuser: w1 w2\n"
    assert model.chat_prompt([{"role": "user", "content": []}]) == "user: \n"


FIRST = {"role": "user", "content": "w1"}


@pytest.mark.parametrize(
    "messages, why",
    [
        (3, "messages: expected a str or a list of messages, found 3"),
        (FIRST, "messages: expected a str or a list of messages, found {'role': 'user', 'content': 'w1'}"),
        ([], "messages: expected at least one message"),
        ([{"role": "user", "content": "w1 \ud800"}], 'messages[0]["content"]: character 4 is half of a pair'),
        (["w1"], """messages[0]: expected a dict with "role" and "content", found 'w1'"""),
        (
            [FIRST, {"role": "user"}],
            'messages[1]["content"]: there is none; expected "role" and "content", found the keys "role"',
        ),
        ([{}], 'messages[0]["role"]: there is none; expected "role" and "content", found the keys none'),
        ([FIRST, {"role": "user", "content": 3}], 'messages[1]["content"]: expected a str, found 3'),
        ([{"role": "assistant", "content": None}], 'messages[0]["content"]: expected a str, found None'),
        ([{"role": 1, "content": "w1"}], 'messages[0]["role"]: expected a str such as "user", found 1'),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}],
            'messages[0]["content"][0]: expected a part such as {"type": "text", "text": ...}, found {',
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "w1"}, {"type": "text"}]}],
            'messages[0]["content"][1]["text"]: expected a str, found None',
        ),
    ],
)
def test_what_is_wrong_is_named(model, messages, why):
    for use in (model.chat_prompt, model.chat, model.stream_chat):
        with pytest.raises(lamina.InputError) as raised:
            use(messages)
        assert str(raised.value).startswith(why)


def test_options_without_effect_are_refused(model):
    """This model's makers suggest no temperature. One of 0 says that the caller knows."""
    for use in (model.generate, model.chat, lambda *a, **how: list(model.stream(*a, **how))):
        with pytest.raises(lamina.UsageError, match="top_k=3 has no effect without a temperature"):
            use("w9", top_k=3, max_length=2)
    greedy = model.chat("w9", max_length=4)
    assert model.chat("w9", max_length=4, temperature=0.0, top_k=3) == greedy
    assert model.chat("w9", max_length=4, top_k=0, top_p=1.0) == greedy


def test_long_values_are_cut(model):
    with pytest.raises(lamina.InputError) as raised:
        model.chat_prompt([{"role": "user", "content": {"w": "x" * 1000}}])
    assert len(str(raised.value)) < 150 and str(raised.value).endswith("... (dict)")
