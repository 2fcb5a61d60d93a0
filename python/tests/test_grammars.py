"""Texts of a grammar: those that a model writes are valid, whatever the schema."""

import json
import sys

import jsonschema
import pytest
from conftest import source

import lamina
from lamina import Grammar

sys.path[:0] = [str(source / "tests" / "serve"), str(source / "tests" / "unit" / "grammar")]
from oracle import Maker  # noqa: E402
from server import spelling  # noqa: E402


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    return lamina.load(spelling(tmp_path_factory.mktemp("models") / "spelling"), device="cpu")


def test_texts_of_schemas_are_valid(speller):
    ended = refused = 0
    for seed in range(1000, 1300):
        schema = Maker(seed).root()
        try:
            grammar = Grammar.json_schema(schema)
        except lamina.InputError as error: # by chance, no value is of it
            assert "there is no text that it matches" in str(error)
            refused += 1
            continue
        found = speller.hypotheses(["a:", "b:"], grammar=grammar, temperature=1.5, seed=seed, beams=2, max_length=250)
        for hypothesis in [each for of_text in found for each in of_text]:
            if hypothesis.finish != "end": # too long
                continue
            ended += 1
            assert grammar.matches(hypothesis.text)
            jsonschema.Draft202012Validator(schema).validate(json.loads(hypothesis.text))
    assert ended > 300 and refused < 30


def test_a_schema_is_a_dict_a_text_or_a_model_of_pydantic():
    class Person: # has what a model of pydantic has
        @staticmethod
        def model_json_schema():
            return {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    for schema in [Person, Person.model_json_schema(), json.dumps(Person.model_json_schema())]:
        grammar = Grammar.json_schema(schema)
        assert grammar.matches('{"name": "Ann"}') and not grammar.matches("{}")
    assert Grammar.json_object().matches('{"a": [1]}')
    assert Grammar.gbnf('root ::= "a" | "b"').matches("b")


def test_texts_match_a_pattern(speller):
    text = speller.generate("a:", grammar=Grammar.regex("[ab]{3}-[0-9]"), max_length=20)
    assert len(text) == 5 and text[3] == "-"
    pieces = list(speller.stream("a:", grammar=Grammar.regex("[ab]{3}-[0-9]"), max_length=20))
    assert "".join(pieces) == text


def test_errors_say_where():
    with pytest.raises(lamina.InputError, match="/properties/a/not: this keyword is not supported"):
        Grammar.json_schema({"properties": {"a": {"not": {}}}})
    with pytest.raises(lamina.InputError, match="line 1, column 10: there is no rule 'item'"):
        Grammar.gbnf("root ::= item")
    with pytest.raises(TypeError, match="grammar='json' has the wrong type"):
        lamina.load(lamina.models / "g2p", device="cpu").generate("a", grammar="json")
