#!/usr/bin/env python3
"""Writes schemas.json: schemas made by chance, and texts of which jsonschema says whether they are valid.

    python3 tests/unit/grammar/oracle.py            needs jsonschema (PyPI, Debian: python3-jsonschema)

An entry: {"schema": ..., "texts": [[TEXT, VALID], ...]}. Valid texts are written as a model would: without blanks, and
with properties in the order of the schema.
"""
import json
import pathlib
import random

import jsonschema

here = pathlib.Path(__file__).parent
WORDS = ["", "a", "ab", "name", "é", "x\"y", "line\n", "\\", "日本", "2024-02-29", "12", "tag-1"]
PATTERNS = ["^[a-z]+$", "^a", "b$", "[0-9]", "^(yes|no)$", "^.{2,3}$", "\\d{2}-\\w", "^[^a]*$"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def maybe(self, chance=0.5):
        return self.random.random() < chance

    def schema(self, depth):
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "any"]
        if depth > 0:
            kinds += ["object", "object", "object", "array", "array", "tuple", "anyOf", "map", "types", "union"]
        return getattr(self, "of_" + self.pick(kinds))(depth)

    def of_any(self, _):
        return self.pick([True, {}, {"title": "anything"}])

    def of_boolean(self, _):
        return {"type": "boolean"}

    def of_null(self, _):
        return {"type": "null"}

    def of_const(self, _):
        return {"const": self.pick([1, -2.5, "a", None, True, [1, "x"], {"a": {"b": []}}])}

    def of_enum(self, _):
        return {"enum": self.random.sample([0, 1, 2.5, "a", "b\"", None, False, [], {"k": 1}], 3)}

    def of_string(self, _):
        out = {"type": "string"}
        kind = self.random.randrange(4)
        if kind == 1:
            out["minLength"] = self.random.randrange(3)
            if self.maybe():
                out["maxLength"] = out["minLength"] + self.random.randrange(3)
        elif kind == 2:
            out["pattern"] = self.pick(PATTERNS)
        return out

    def bounds(self, out, numbers):
        low, high = sorted(self.pick(numbers) for _ in range(2))
        if self.maybe(0.7):
            out[self.pick(["minimum", "exclusiveMinimum"])] = low
        if self.maybe(0.7):
            out[self.pick(["maximum", "exclusiveMaximum"])] = high
        return out

    def of_integer(self, _):
        return self.bounds({"type": "integer"}, [-120, -10, -1, 0, 1, 5, 9, 10, 99, 1000, 2.5, -0.5])

    def of_number(self, _):
        return self.bounds({"type": "number"}, [-12.25, -1, -0.5, 0, 0.125, 1, 1.5, 2, 10, 99.99, 100])

    def of_array(self, depth):
        out = {"type": "array"}
        if self.maybe(0.8):
            out["items"] = self.schema(depth - 1)
        if self.maybe():
            out["minItems"] = self.random.randrange(3)
        if self.maybe():
            out["maxItems"] = out.get("minItems", 0) + self.random.randrange(3)
        return out

    def of_tuple(self, depth):
        out = {"type": "array", "prefixItems": [self.schema(depth - 1) for _ in range(self.random.randrange(1, 4))]}
        if self.maybe():
            out["items"] = self.pick([False, self.schema(0)])
        if self.maybe():
            out["minItems"] = self.random.randrange(4)
        return out

    def of_object(self, depth):
        names = self.random.sample(["name", "age", "x\"y", "é", "a/b", "n"], self.random.randrange(1, 5))
        out = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}}
        required = [name for name in names if self.maybe()]
        if required:
            out["required"] = required
        if self.maybe():
            out["additionalProperties"] = self.pick([False, True, self.schema(0)])
        return out

    def of_map(self, depth):
        return {"type": "object", "additionalProperties": self.schema(depth - 1)}

    def of_types(self, _):
        return {"type": self.random.sample(["string", "integer", "null", "boolean", "number"], 2)}

    def of_anyOf(self, depth):
        return {"anyOf": [self.schema(depth - 1) for _ in range(2)]}

    def of_union(self, depth):
        def branch(kind):
            return {"type": "object", "properties": {"kind": {"const": kind}, "value": self.schema(depth - 1)},
                    "required": ["kind"], "additionalProperties": False}
        return {self.pick(["oneOf", "anyOf"]): [branch("a"), branch("b")]}

    def root(self):
        out = self.of_object(3) if self.maybe(0.7) else self.schema(3)
        if isinstance(out, dict) and "properties" in out and self.maybe(0.4):
            out["$defs"] = {"node": {"type": "object", "properties": {
                "v": self.schema(0), "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["v"], "additionalProperties": False}}
            out["properties"]["list"] = {"$ref": "#/$defs/node", "description": "a list"}
        return out

    # ---- Values: most of them of the schema ----
    def value(self, schema, root, depth=0):
        if self.maybe(0.06) or isinstance(schema, bool) or depth > 6:
            return self.any_value(2)
        if "$ref" in schema:
            return self.value(root["$defs"]["node"], root, depth + 1)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.value(self.pick(schema[key]), root, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.pick(schema["enum"])
        kind = schema.get("type")
        kind = self.pick(kind) if isinstance(kind, list) else kind
        if kind == "object":
            return self.object(schema, root, depth)
        if kind == "array":
            first = schema.get("prefixItems", [])
            rest = schema.get("items", True)
            count = self.random.randrange(schema.get("minItems", 0), schema.get("maxItems", 4) + 1)
            return [self.value(first[i] if i < len(first) else rest, root, depth + 1) for i in range(count)]
        if kind in ("integer", "number"):
            return self.number(schema, kind)
        return self.any_value(1) if kind is None else self.scalar(kind)

    def object(self, schema, root, depth):
        out = {}
        for name, inner in schema.get("properties", {}).items():
            if name in schema.get("required", []) and self.maybe(0.95) or self.maybe(0.6):
                out[name] = self.value(inner, root, depth + 1)
        if self.maybe(0.3):
            out[self.pick(WORDS)] = self.value(schema.get("additionalProperties", True), root, depth + 1)
        return out

    def number(self, schema, kind):
        near = [schema[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if key in schema]
        base = self.pick(near + [0, 7])
        out = base + self.pick([0, 0, 1, -1, 0.5, -0.25, 0.001, -0.001, 10, -10, 100])
        out = round(out, 6)
        return int(out) if kind == "integer" and self.maybe(0.9) or out == int(out) else out

    def scalar(self, kind):
        return {"string": self.pick(WORDS), "boolean": self.maybe(), "null": None}[kind]

    def any_value(self, depth):
        scalars = [None, True, 0, -3, 1.5, *WORDS]
        if depth == 0 or self.maybe(0.6):
            return self.pick(scalars)
        if self.maybe():
            return [self.any_value(depth - 1) for _ in range(self.random.randrange(3))]
        return {self.pick(WORDS): self.any_value(depth - 1) for _ in range(self.random.randrange(3))}


def main():
    entries = []
    for seed in range(150):
        maker = Maker(seed)
        schema = maker.root()
        validator = jsonschema.Draft202012Validator(schema)
        texts = {}
        for _ in range(40):
            value = maker.value(schema, schema)
            texts[json.dumps(value, ensure_ascii=False, separators=(",", ":"))] = validator.is_valid(value)
        valid = [text for text, good in texts.items() if good]
        others = [text for text, good in texts.items() if not good]
        entries.append({"schema": schema, "texts": [[t, True] for t in valid[:7]] + [[t, False] for t in others[:7]]})
    text = "[\n" + ",\n".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) for e in entries) + "]\n"
    temporary = here / ".schemas.json"
    temporary.write_text(text)
    temporary.rename(here / "schemas.json")


if __name__ == "__main__":
    main()
