"""Random templates of one expression, most of which evaluate without an error."""

import random

NAMES = ["word", "spaces", "lines", "n", "x", "flag", "nothing", "words", "numbers", "empty", "nested", "messages", "tools", "bos_token", "missing"]
TEXTS = ["''", "'a'", "'Ab c'", "' x '", "'é😀'", "'a,b,c'", "'12'", "'it\\'s'", "'p'", "'role'", "'user'", "'\\n'", "word", "spaces", "lines", "messages[1].content", "messages[0]['role']", "bos_token"]
NUMBERS = ["0", "1", "2", "-3", "7", "2.5", "-0.5", "10", "n", "x", "numbers[1]", "messages|length", "true"]
LISTS = ["words", "numbers", "empty", "messages", "tools", "[]", "[1, 'a', none]", "('x', 2)", "words[1:]", "(range(4)|list)", "'a b c'.split()", "messages|map(attribute='role')|list", "nested.keys()|list"]
DICTS = ["nested", "messages[0]", "messages[2]", "{}", "{'b': 1, 'a': 'x'}", "tools[1]"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *options):
        return self.random.choice(options)

    def any(self, depth):
        return self.pick(self.text, self.text, self.number, self.list, self.dict, self.truth)(depth)

    def index(self):
        return self.pick("0", "1", "-1", "2", "9", "-9", "n", "'a'", "'role'", "nothing")

    def slice(self):
        bound = lambda: self.pick("", "", "0", "1", "-1", "2", "-2", "5", "-9", "9")
        step = self.pick("", "", "", ":", ":2", ":-1", ":-2", ":1")
        return f"[{bound()}:{bound()}{step}]"

    def text(self, depth):
        if depth == 0:
            return self.random.choice(TEXTS)
        d = depth - 1
        t, u = self.text(d), self.text(d)
        return self.pick(
            lambda: f"({t} + {u})",
            lambda: f"({t} ~ {self.any(d)} ~ {u})",
            lambda: f"({t} * {self.pick('0', '2', '-1', '3')})",
            lambda: f"{self.closed(t)}{self.slice()}",
            lambda: f"{self.closed(t)}[{self.index()}]",
            lambda: f"{self.closed(t)}.{self.pick('strip', 'lstrip', 'rstrip', 'upper', 'lower', 'title', 'capitalize')}()",
            lambda: f"{self.closed(t)}.{self.pick('strip', 'lstrip', 'rstrip')}({u})",
            lambda: f"{self.closed(t)}.replace({u}, {self.text(0)}{self.pick('', ', 1')})",
            lambda: f"({t} | {self.pick('trim', 'upper', 'lower', 'title', 'capitalize', 'string', 'indent', 'first', 'last', 'tojson')})",
            lambda: f"({self.any(d)} | {self.pick('tojson', 'string', 'tojson(indent=2)', 'tojson(sort_keys=true)', 'tojson(ensure_ascii=true)')})",
            lambda: f"({self.list(d)} | join({self.pick(t, '')}))",
            lambda: f"({t} | replace({u}, {self.text(0)}))",
            lambda: f"({t} if {self.truth(d)}{self.pick('', ' else ' + u)})",
            lambda: f"({self.any(d)} | default({t}{self.pick('', ', true')}))",
            lambda: f"({t} {self.pick('and', 'or')} {u})",
            lambda: f"({t} | indent({self.pick('2', '3, true', '1, blank=true', repr('> '))}))",
        )()

    def number(self, depth):
        if depth == 0:
            return self.random.choice(NUMBERS)
        d = depth - 1
        a, b = self.number(d), self.number(d)
        return self.pick(
            lambda: f"({a} {self.pick('+', '-', '*', '/', '//', '%')} {b})",
            lambda: f"(-{self.closed(a)})",
            lambda: f"({self.list(d)} | {self.pick('length', 'count', 'min', 'max', 'first', 'last')})",
            lambda: f"({self.text(d)} | {self.pick('length', 'int', 'int(3)')})",
            lambda: f"({a} | int)",
            lambda: f"({a} if {self.truth(d)} else {b})",
        )()

    def list(self, depth):
        if depth == 0:
            return self.random.choice(LISTS)
        d = depth - 1
        a, b = self.list(d), self.list(d)
        return self.pick(
            lambda: f"({a} + {b})",
            lambda: f"{self.closed(a)}{self.slice()}",
            lambda: f"[{self.any(d)}, {self.any(d)}]",
            lambda: f"({self.any(d)}, {self.any(d)})",
            lambda: f"({a} * {self.pick('0', '2')})",
            lambda: f"{self.closed(self.text(d))}.split({self.pick('', self.text(0), self.text(0) + ', 1', 'none, 1')})",
            lambda: f"({a} | {self.pick('list', 'sort', 'sort(reverse=true)', 'sort(case_sensitive=true)')})",
            lambda: f"({a} | {self.pick('unique', 'select', 'reject', 'map(' + repr('string') + ')', 'map(' + repr('upper') + ')', 'map(' + repr('length') + ')')} | list)",
            lambda: f"({a} | {self.pick('select', 'reject')}({self.pick(repr('string'), repr('number'), repr('defined'), repr('mapping'), repr('equalto') + ', ' + self.any(0), repr('in') + ', ' + self.list(0))}) | list)",
            lambda: f"({self.pick('messages', 'tools', a)} | {self.pick('selectattr', 'rejectattr')}({self.pick(repr('role') + ', ' + repr('equalto') + ', ' + repr('user'), repr('rank'), repr('tool_calls') + ', ' + repr('defined'), repr('content') + ', ' + repr('in') + ', ' + self.text(0))}) | list)",
            lambda: f"({self.pick('messages', 'tools', a)} | map(attribute={self.pick(repr('role'), repr('name'), repr('content'), '0')}{self.pick('', ', default=' + self.any(0))}) | list)",
            lambda: f"({self.dict(d)}.{self.pick('items', 'keys', 'values')}() | list)",
            lambda: f"({self.dict(d)} | {self.pick('items | list', 'dictsort', 'list', 'dictsort(reverse=true)')})",
            lambda: f"({self.text(d)} | list)",
            lambda: f"(range({self.pick('3', '1, 4', '4, 0, -1', '0')})|list)",
        )()

    def dict(self, depth):
        if depth == 0:
            return self.random.choice(DICTS)
        d = depth - 1
        return self.pick(
            lambda: "{" + f"'k': {self.any(d)}, {self.text(0)}: {self.any(d)}" + "}",
            lambda: f"({self.dict(d)} if {self.truth(d)} else {self.dict(d)})",
            lambda: f"({self.list(d)} | select('mapping') | first)",
        )()

    def truth(self, depth):
        d = max(depth - 1, 0)
        a, b = self.any(d), self.any(d)
        comparison = self.pick("==", "!=", "<", "<=", ">", ">=", "in", "not in")
        return self.pick(
            lambda: f"({a} {self.pick('==', '!=')} {b})",
            lambda: f"({self.number(d)} {comparison if 'in' not in comparison else '<'} {self.number(d)})",
            lambda: f"({self.text(d)} {comparison} {self.text(d)})",
            lambda: f"({self.any(d)} {self.pick('in', 'not in')} {self.pick(self.list(d), self.dict(d))})",
            lambda: f"({a} {self.pick('and', 'or')} {b})",
            lambda: f"(not {a})",
            lambda: f"({self.pick(a, self.random.choice(NAMES))} is {self.pick('', 'not ')}{self.pick('defined', 'none', 'string', 'number', 'mapping', 'iterable', 'sequence', 'boolean', 'true', 'false')})",
            lambda: f"{self.closed(self.text(d))}.{self.pick('startswith', 'endswith')}({self.text(0)})",
            lambda: f"({self.number(0)} < {self.number(0)} <= {self.number(0)})",
            lambda: self.pick("true", "false", "flag", "none"),
        )()

    @staticmethod
    def closed(expression):
        """An expression that may be followed by a method."""
        return expression if expression[0] in "('[" and expression[-1] in ")']" else f"({expression})"


def random_template(seed):
    generator = Generator(seed)
    return "{{ " + generator.any(generator.pick(1, 2, 2, 3)) + " }}"
