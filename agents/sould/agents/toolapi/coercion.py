"""Arguments as their schema wants them: models write lists, objects, numbers and booleans as text, and null for nothing.

One reading for all tools, those of MCP servers included, whose servers check strictly. Text stays text where the schema
takes text, whatever it looks like; what cannot be read stays as it is, for the check that follows.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import orjson

from sould.agents.toolapi.portable import branches, property_name, type_of

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_BOOLEANS = {"true": True, "false": False}
_UNREAD = object()


def _value(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _read(value, schema)
    if isinstance(value, float) and value.is_integer() and _takes(schema, "integer") and not _takes(schema, "number"):
        return int(value)
    if isinstance(value, dict):
        fields, chosen = cast("dict[str, Any]", value), _branch(schema, "object")
        return coerced(fields, chosen) if chosen is not None else fields
    if isinstance(value, list):
        chosen = _branch(schema, "array")
        items = chosen.get("items") if chosen is not None else None
        given = cast("list[Any]", value)
        return [_value(item, cast("dict[str, Any]", items)) for item in given] if isinstance(items, dict) else given
    return value


def coerced(given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, by the schema of its tool, whose names the model knows as `property_name` writes them.

    Null for a parameter that need not be given is not given. The same holds within objects.
    """
    properties, required = _mapping(schema.get("properties")), schema.get("required") or ()
    own = {property_name(name): name for name in properties}
    made: dict[str, Any] = {}
    for told, value in given.items():
        name = told if told in properties else own.get(told, told)
        wanted = properties.get(name)
        if not isinstance(wanted, dict):
            made[name] = value
            continue
        asked = cast("dict[str, Any]", wanted)
        if value is None and name not in required and not _takes(asked, "null"):
            continue
        made[name] = _value(value, asked)
    return made


def _read(text: str, schema: Mapping[str, Any]) -> Any:
    """Text that stands for something else. Where the schema says no type, or takes text, it is text."""
    types = set(_types(schema))
    if not types or "string" in types:
        return text
    stripped = text.strip()
    for read in (_boolean, _number, _structure):
        value = read(stripped, types)
        if value is not _UNREAD:
            return _value(value, schema) if isinstance(value, dict | list) else value
    return None if "null" in types and stripped in ("", "null", "None") else text


def _boolean(text: str, types: set[str]) -> object:
    return _BOOLEANS.get(text.lower(), _UNREAD) if "boolean" in types else _UNREAD


def _number(text: str, types: set[str]) -> object:
    if types.isdisjoint({"integer", "number"}) or not _NUMBER.fullmatch(text):
        return _UNREAD
    if _INTEGER.fullmatch(text):
        return int(text)
    value = float(text)
    if "number" in types:
        return value
    return int(value) if value.is_integer() else _UNREAD


def _structure(text: str, types: set[str]) -> object:
    if not text.startswith(("{", "[")):
        return _UNREAD
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return _UNREAD
    return value if type_of(value) in types else _UNREAD


def _takes(schema: Mapping[str, Any], kind: str) -> bool:
    types = set(_types(schema))
    return not types or kind in types


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    """All types that a schema takes; nothing where it takes anything."""
    kind = schema.get("type")
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, list):
        yield from (each for each in cast("list[Any]", kind) if isinstance(each, str))
    elif schema.get("enum") or "const" in schema:
        values = [*(schema.get("enum") or ()), *([schema["const"]] if "const" in schema else ())]
        yield from {type_of(value) for value in values}
    for branch in branches(schema, "anyOf", "oneOf", "allOf"):
        yield from _types(branch)


def _branch(schema: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The part of a schema that describes its objects, or its lists."""
    if schema.get("properties" if kind == "object" else "items"):
        return schema
    return next(
        (found for each in branches(schema, "anyOf", "oneOf", "allOf") if (found := _branch(each, kind)) is not None),
        None,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
