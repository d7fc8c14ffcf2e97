"""What servers say of the parameters of a tool that they do not take, each in its own dialect of JSON Schema."""

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from soultest.llm import Json

Dialect: TypeAlias = Callable[[Json], Iterator[str]]

_KINDS = frozenset({"string", "number", "integer", "boolean", "object", "array"})
_COMBINED = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const"})
_UNKNOWN_TO_GEMINI = frozenset(
    {"oneOf", "allOf", "not", "if", "$ref", "const", "patternProperties", "exclusiveMinimum"}
)


def walk(schema: Json, path: str = "root") -> Iterator[tuple[str, Json]]:
    """A schema and all in it, with their paths."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}")
    if "items" in schema:
        yield from walk(schema["items"], f"{path}[]")
    for branch in schema.get("anyOf", ()):
        yield from walk(branch, f"{path}|")


def openai(schema: Json) -> Iterator[str]:
    """OpenAI (oh-my-pi 2652) and Claude (claude-code 45106, mcp-server-gemini 8)."""
    if schema.get("type") != "object" or _COMBINED & schema.keys():
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
    for path, each in walk(schema):
        if each.get("type") == "array" and "items" not in each:
            yield f"In context=({path}), array schema missing items"


def claude(schema: Json) -> Iterator[str]:
    """Claude's names of properties (claude-code 34771)."""
    yield from openai(schema)
    for path, each in walk(schema):
        if any(not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in each.get("properties", ())):
            yield f"{path}: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"


def moonshot(schema: Json) -> Iterator[str]:
    """Kimi (kimi-cli 2531 and 2061, kimi-code 792 and 1610)."""
    for path, each in walk(schema):
        if "anyOf" in each and "type" in each:
            yield f"At path '{path}': when using anyOf, type should be defined in anyOf items instead of the parent schema"
        if path != "root" and not {"type", "anyOf", "enum"} & each.keys():
            yield f"At path '{path}': type is not defined"
        for name in {*each.get("required", ())} - {*each.get("properties", ())}:
            yield f"At path '{path}': required property '{name}' is not defined in properties"


def gemini(schema: Json) -> Iterator[str]:
    """Gemini (opencode 5832, 2687 and 11889, copilot-cli 4623, skyvern 8611, crawl4ai 1311)."""
    for path, each in walk(schema):
        kind = each.get("type")
        if kind not in _KINDS and "anyOf" not in each:
            yield f"{path}: schema didn't specify the schema type field"
        if kind == "array" and not each.get("items"):
            yield f"{path}: items: missing field"
        if "enum" in each and (kind != "string" or not all(isinstance(value, str) and value for value in each["enum"])):
            yield f"{path}: enum: only allowed for STRING type"
        if "properties" in each and kind != "object":
            yield f"{path}: properties: only allowed for OBJECT type"
        for key in _UNKNOWN_TO_GEMINI & each.keys():
            yield f'{path}: Unknown name "{key}": Cannot find field'


DIALECTS: tuple[Dialect, ...] = (openai, claude, moonshot, gemini)
