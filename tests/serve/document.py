"""Checks responses of a server against its /openapi.json."""

import json
import math
import re

kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
told = {"description", "examples", "contentEncoding", "contentMediaType", "format"} # what restricts nothing
known = told | {"$ref", "type", "enum", "const", "not", "anyOf", "oneOf", "allOf", "properties", "required", "items",
                "additionalProperties", "propertyNames", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems",
                "minLength", "maxLength", "pattern", "x-event"}


def is_of(value, kind):
    if kind in ["integer", "number"]:
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, kinds[kind])


def same(a, b):
    return type(a) is type(b) and a == b


class Document:
    def __init__(self, document):
        self.whole = document
        self.schemas = document["components"]["schemas"]

    def schema(self, schema):
        """The one that it refers to."""
        while "$ref" in schema:
            assert schema["$ref"].startswith("#/components/schemas/"), schema
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def fault(self, value, schema, place=""):
        """What is wrong with a value of JSON, or None. Knows the keywords that the document uses, and no others."""
        if schema is True:
            return None
        assert set(schema) <= known, f"unknown keywords: {set(schema) - known}"
        if "$ref" in schema:
            return self.fault(value, self.schema(schema), place)
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if types and not any(is_of(value, each) for each in types):
            return f"{place}: expected {types}, found {json.dumps(value)[:80]}"
        if "const" in schema and not same(value, schema["const"]):
            return f"{place}: expected {schema['const']!r}, found {value!r}"
        if "enum" in schema and not any(same(value, each) for each in schema["enum"]):
            return f"{place}: expected one of {schema['enum']}, found {value!r}"
        if "not" in schema and self.fault(value, schema["not"], place) is None:
            return f"{place}: is what it must not be"
        for each in schema.get("allOf", []):
            if fault := self.fault(value, each, place):
                return fault
        for name, fits in [("anyOf", lambda count: count > 0), ("oneOf", lambda count: count == 1)]:
            if name in schema:
                faults = [self.fault(value, each, place) for each in schema[name]]
                if not fits(faults.count(None)):
                    return f"{place}: {name} fits {faults.count(None)}: {faults}"
        if isinstance(value, dict):
            return self.fault_of_object(value, schema, place)
        if isinstance(value, list):
            return self.fault_of_list(value, schema, place)
        return self.fault_of_scalar(value, schema, place)

    def fault_of_object(self, value, schema, place):
        for name in schema.get("required", []):
            if name not in value:
                return f"{place}: has no {name}"
        more = schema.get("additionalProperties", True)
        for name, part in value.items():
            if fault := self.fault(name, schema.get("propertyNames", True), f"{place}/{name}"):
                return fault
            kind = schema.get("properties", {}).get(name, more)
            if kind is False:
                return f"{place}: may have no {name}"
            if fault := self.fault(part, kind, f"{place}/{name}"):
                return fault
        return None

    def fault_of_list(self, value, schema, place):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            return f"{place}: has {len(value)} items"
        for i, part in enumerate(value):
            if fault := self.fault(part, schema.get("items", True), f"{place}/{i}"):
                return fault
        return None

    def fault_of_scalar(self, value, schema, place):
        if isinstance(value, str):
            if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
                return f"{place}: has {len(value)} characters"
            if "pattern" in schema and not re.search(schema["pattern"], value):
                return f"{place}: expected {schema['pattern']}, found {value}"
        elif is_of(value, "number"):
            if not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
                return f"{place}: {value} is out of bounds"
            if value <= schema.get("exclusiveMinimum", -math.inf):
                return f"{place}: {value} is out of bounds"
        return None

    # ---- Routes ----

    def operation(self, method, path):
        """Of a request; None if it has no route."""
        path = path.split("?")[0]
        for pattern in sorted(self.whole["paths"], key=lambda each: each.count("{")): # names before what stands for any
            if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern)), path):
                found = self.whole["paths"][pattern].get("get" if method == "HEAD" else method.lower())
                if found:
                    return found
        return None

    def check(self, method, path, status, kind, body):
        """Fails if a response is none that the document tells of. `body`: parsed, if it is JSON."""
        operation = self.operation(method, path)
        if operation is None or method == "HEAD":
            assert status in [200, 401, 403, 404, 405, 408, 413, 414, 431] or method == "HEAD", (method, path, status)
            return
        assert str(status) in operation["responses"], f"{method} {path}: status {status} is not documented: {body}"
        content = operation["responses"][str(status)]["content"]
        kind = kind.split(";")[0]
        assert kind in content, f"{method} {path}: {kind} is not documented, only {list(content)}"
        schema = content[kind]["schema"]
        if kind == "application/json":
            fault = self.fault(body, schema)
            assert fault is None, f"{method} {path}: {status}: {fault}: {json.dumps(body)[:500]}"
        elif kind == "text/event-stream":
            for line in body.decode().splitlines():
                if line.startswith("data: {"):
                    event = json.loads(line.removeprefix("data: "))
                    fault = None if "error" in event else self.fault(event, schema["x-event"])
                    assert fault is None, f"{method} {path}: {fault}: {line[:500]}"
