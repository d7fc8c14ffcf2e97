"""Schemas in the form that every model server takes: what Moonshot, Gemini, OpenAI and Claude allow alike.

A server that refuses one schema refuses every request. So what only some take is said in another way, or left out: a model
then sees less of a tool's limits, and whoever runs the tool checks them. Pure; takes schemas without
references (`inlined`): some servers do not follow `$ref`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

DEEPEST: Final = 24
MOST_NODES: Final = 5000
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_DROPPED = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"})
Schema = dict[str, Any]
LONGEST_DESCRIPTION: Final = 1024
"""Bytes of a tool's description: OpenAI and Azure refused longer ones."""
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_.-]")
"""What Claude does not take in the name of a property."""
_KINDS = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_OF_KIND = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A copy with all references inside it resolved. A recursive type allows anything below its first level."""
    found = _Resolver(schema).resolve(schema, (), 0)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class _Resolver:
    """Copies a schema; `budget` bounds how large that becomes."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._budget = MOST_NODES

    def resolve(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        self._budget -= 1
        if depth > DEEPEST or self._budget < 0:
            return {}
        if isinstance(node, list):
            return [self.resolve(item, inside, depth + 1) for item in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        items = cast("dict[str, Any]", node)
        reference = items.get("$ref", items.get("$dynamicRef"))
        if isinstance(reference, str):
            rest = {key: value for key, value in items.items() if key not in _REFERENCES}
            target = None if reference in inside else self._find(reference)
            merged = {**target, **rest} if target is not None else rest
            return self.resolve(merged, (*inside, reference), depth + 1)
        return {key: self._value(key, value, inside, depth + 1) for key, value in items.items() if key not in _DROPPED}

    def _value(self, key: str, value: Any, inside: tuple[str, ...], depth: int) -> Any:
        if key == "properties" and isinstance(value, dict):  # its keys are names, whatever they look like
            named = cast("dict[str, Any]", value)
            return {name: self.resolve(child, inside, depth + 1) for name, child in named.items()}
        return self.resolve(value, inside, depth)

    def _find(self, reference: str) -> dict[str, Any] | None:
        """What a reference inside the document names; None for any other."""
        if not reference.startswith("#"):
            return None
        node: Any = self._root
        for part in reference[1:].strip("/").split("/"):
            if not part:
                continue
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or key not in node:
                return None
            node = cast("Any", node[key])
        return cast("dict[str, Any]", node) if isinstance(node, dict) else None


def branches(schema: Mapping[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    """The schemas that a schema combines with these keywords: `anyOf`, `oneOf`, `allOf`."""
    for key in keys:
        found = schema.get(key)
        for branch in cast("list[Any]", found) if isinstance(found, list) else ():
            if isinstance(branch, dict):
                yield cast("dict[str, Any]", branch)


def type_of(value: object) -> str:
    """The name that JSON Schema has for a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def portable(schema: Schema) -> Schema:
    """One object schema; its top level has only type, properties, required and description.

    Ways to be become optional properties beside each other: what goes with what is for whoever runs the tool to check.
    """
    whole = [schema, *branches(schema, "allOf")]
    ways = [way for each in whole for way in branches(each, "anyOf", "oneOf")]
    properties: Schema = {}
    for each in (*ways, *whole):
        properties |= _properties(each)
    needed = {name for each in whole for name in _names(each.get("required"))}
    made: Schema = {"type": "object", "properties": properties}
    if required := [name for name in properties if name in needed]:
        made["required"] = required
    if isinstance(schema.get("description"), str):
        made["description"] = schema["description"]
    return made


def _properties(schema: Schema) -> Schema:
    """Those that are schemas, by names that every server takes. A keyword that slipped in among them is none."""
    given = schema.get("properties")
    if not isinstance(given, dict):
        return {}
    return {
        property_name(name): _schema(cast("Schema", child) if isinstance(child, dict) else {})
        for name, child in cast("Schema", given).items()
        if isinstance(child, dict | bool) and child is not False
    }


def property_name(name: str) -> str:
    """A property's name as every server takes it; `coerced` gives an argument its own back."""
    return _UNFIT.sub("_", name)[:64] or "_"


def _schema(schema: Schema) -> Schema:
    """One inside: with one type, or with several ways to be."""
    kinds = [kind for kind in _kinds(schema) if kind != "null"]
    ways = list(branches(schema, "anyOf", "oneOf"))
    typed = [way for way in ways if _kinds(way) not in ([], ["null"])]
    if kinds == ["object"] or (len(kinds) == 1 and not typed):
        made = _of_kind(schema, kinds[0])
    elif ways:
        found = _distinct(_schema(way) for way in ways if _kinds(way) != ["null"]) or _anything()
        made = found[0] if len(found) == 1 else {"anyOf": found}
    elif kinds:
        made = {"anyOf": [_of_kind(schema, kind) for kind in kinds]}
    else:
        made = _of_all(list(branches(schema, "allOf")))
    return {**_said(schema), **made}


def _of_all(parts: list[Schema]) -> Schema:
    """What fits all of several schemas."""
    if any(_kinds(part) == ["object"] for part in parts):
        return _of_kind({"allOf": parts}, "object")
    merged: Schema = {key: value for part in parts for key, value in part.items()}
    return _schema(merged) if merged else {"anyOf": _anything()}


def _anything() -> list[Schema]:
    """In place of no type, which Moonshot and Gemini refuse."""
    return [{"type": kind} for kind in ("string", "number", "boolean", "object")]


def _of_kind(schema: Schema, kind: str) -> Schema:
    made: Schema = {"type": kind}
    values = _values(schema)
    if kind == "string" and values and all(isinstance(value, str) and value for value in values):
        made["enum"] = values
    elif values:
        told = ", ".join(json.dumps(value, ensure_ascii=False) for value in values[:20])
        said = schema.get("description")
        made["description"] = (
            f"{said.rstrip('.')}. One of {told}." if isinstance(said, str) and said else f"One of {told}."
        )
    if kind == "object":
        made |= {key: value for key, value in portable(schema).items() if key != "description"}
    elif kind == "array":
        items = schema.get("items")
        made["items"] = _schema(cast("Schema", items) if isinstance(items, dict) else {})
    return made | {key: schema[key] for key in _OF_KIND.get(kind, ()) if isinstance(schema.get(key), int | float)}


def _said(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("description", "title") if isinstance(schema.get(key), str)} | (
        {"default": schema["default"]} if schema.get("default") is not None else {}
    )


def _kinds(schema: Schema) -> list[str]:
    """The types that a schema names, or that its values have."""
    kind = schema.get("type")
    named = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    known = [each for each in named if isinstance(each, str) and each in _KINDS]
    if known:
        return known
    if isinstance(schema.get("properties"), dict):
        return ["object"]
    if "items" in schema:
        return ["array"]
    return list(dict.fromkeys(map(type_of, _values(schema))))


def _values(schema: Schema) -> list[Any]:
    """Those that a schema allows; empty where it names none."""
    if isinstance(schema.get("enum"), list):
        return cast("list[Any]", schema["enum"])
    return [schema["const"]] if "const" in schema else []


def _distinct(schemas: Iterator[Schema]) -> list[Schema]:
    found: list[Schema] = []
    for each in schemas:
        found.extend(way for way in each.get("anyOf", [each]) if way not in found)
    return found


def _names(required: object) -> list[str]:
    names = cast("list[Any]", required) if isinstance(required, list) else []
    return [property_name(each) for each in names if isinstance(each, str)]
