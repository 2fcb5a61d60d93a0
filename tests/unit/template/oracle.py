"""Results of jinja2 for templates, in the setup of the PyPI package transformers for chat templates.

    python3 tests/unit/template/oracle.py            writes the fixtures that template_test.cpp reads
    python3 tests/unit/template/oracle.py --expressions COUNT SEED FILE
                                                     writes COUNT random expressions, for a longer comparison
    python3 tests/unit/template/oracle.py --published FILE FOLDER...
                                                     writes conversations by the templates (.jinja) in these folders

A fixture is a list of cases: a template, its variables, and its text or the error that it ends with.
"""

import argparse
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox
from constructs import CONSTRUCTS
from expressions import random_template

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2025, 3, 9, 7, 5, 2)
VARIABLES = {
    "messages": [
        {"role": "system", "content": " Be brief. "},
        {"role": "user", "content": "Grüße, 日本 😀 'q' \"d\" <b>&amp;\n\tnext"},
        {"role": "assistant", "content": "one two  three", "tool_calls": [{"name": "f", "arguments": {"b": 1, "a": [True, None, 2.5]}}]},
        {"role": "user", "content": ""},
    ],
    "tools": [{"name": "get", "type": "function"}, {"name": "Put", "rank": 2}],
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True,
    "words": ["pear", "Apple", "fig", "apple", "Äpfel"], "numbers": [3, -1, 2.5, 10, 0], "empty": [], "nested": {"a": {"b": [1, {"c": "deep"}]}, "items": "x"},
    "flag": False, "nothing": None, "word": "Straßen-bahn", "spaces": " \t two words \n", "n": 7, "x": 2.5, "lines": "a\n\n  b\r\nc",
}


class Generation(jinja2.ext.Extension):
    """{% generation %} marks the model's answers, which matters only in training."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    out = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    out.filters["tojson"] = to_json
    out.globals["raise_exception"] = raise_exception
    out.globals["strftime_now"] = NOW.strftime
    return out


ENVIRONMENT = environment()


def case(template, variables, **name):
    out = {**name, "template": template, "variables": variables}
    variables = {"tools": None, "documents": None, **variables}
    try:
        out["text"] = ENVIRONMENT.from_string(template).render(**variables)
    except Exception as error:  # anything that Python raises is an error of the template
        out["error"] = f"{type(error).__name__}: {error}"
    return out


def family_cases(folder=HERE / "templates"):
    conversations = json.loads((HERE / "conversations.json").read_text())
    for file in sorted(pathlib.Path(folder).rglob("*.jinja")):
        for name, variables in conversations.items():
            for prompt in (True, False):
                options = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": prompt}
                yield case(file.read_text(), {**options, **variables}, name=f"{file.stem}, {name}")


def write(file, cases):
    """Templates and variables are in separate lists, because most occur in many cases."""
    templates, variables = {}, {}

    def index(table, value):
        return table.setdefault(json.dumps(value), len(table))

    cases = [{**c, "template": index(templates, c["template"]), "variables": index(variables, c["variables"])} for c in cases]
    tables = {"templates": [json.loads(t) for t in templates], "variables": [json.loads(v) for v in variables], "cases": cases}
    lines = [f'"{key}": [\n' + ",\n".join(json.dumps(each, ensure_ascii=False) for each in table) + "\n]" for key, table in tables.items()]
    pathlib.Path(file).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    errors = sum("error" in c for c in cases)
    print(f"{file}: {len(cases)} cases, {errors} of them errors")


def expression_cases(count, seed):
    return [case(random_template(f"{seed}/{i}"), VARIABLES) for i in range(count)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expressions", nargs=3, metavar=("COUNT", "SEED", "FILE"))
    parser.add_argument("--published", nargs="+", metavar=("FILE", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.expressions:
        count, seed, file = arguments.expressions
        write(file, expression_cases(int(count), seed))
    elif arguments.published:
        file, *folders = arguments.published
        write(file, [each for folder in folders for each in family_cases(folder)])
    else:
        write(HERE / "families.json", list(family_cases()))
        write(HERE / "constructs.json", [case(template, VARIABLES) for template in CONSTRUCTS])
        write(HERE / "expressions.json", expression_cases(400, 1))
