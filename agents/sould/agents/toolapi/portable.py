"""Schemas in the form that every model server takes: what Moonshot, Gemini, OpenAI and Claude allow alike.

A server that refuses one schema refuses every request. So what only some take is said in another way, or left out: a model
then sees less of a tool's limits, and whoever runs the tool checks them. Pure; takes schemas without references (`inlined`).
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from sould.agents.toolapi.schemas import branches, type_of

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
