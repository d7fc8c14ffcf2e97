"""Where a key stands in a TOML or JSON text: the parsers do not say, and an error without a line is half an error.

It reads text that has already been parsed without error, so it can be simple; where it is unsure, it knows less lines,
never wrong ones.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Place: TypeAlias = tuple[str | int, ...]
"""A key's path; numbers count the items of arrays of tables."""

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*")
_PART = re.compile(_KEY)
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]\]?\s*(?:#.*)?$")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def toml_lines(text: str) -> Mapping[Place, int]:
    """The line of every key and table, counted from 1. Keys of inline tables are not listed."""
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    open_value = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if open_value:
            open_value = _still_open(open_value, line)
            continue
        header = _HEADER.match(line)
        if header:
            table = _indexed(_split(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
            continue
        key = _DOTTED.match(line)
        if key and line[key.end() : key.end() + 1] == "=":
            lines.setdefault((*table, *_split(key[1])), number)
            open_value = _still_open("", line[key.end() + 1 :])
    return lines


def _indexed(path: Place, counts: Mapping[Place, int]) -> Place:
    """`[a.b]` below `[[a]]` belongs to the newest item of `a`."""
    found: Place = ()
    for part in path[:-1]:
        found = (*found, part)
        if found in counts:
            found = (*found, counts[found])
    return (*found, *path[-1:])


def _split(dotted: str) -> Place:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(dotted))


def _still_open(before: str, line: str) -> str:
    """What of a value goes on in the next line: a triple quote, or as many brackets as are open."""
    if before in ('"""', "'''"):
        return "" if before in line else before
    for quote in ('"""', "'''"):
        if line.count(quote) % 2:
            return quote
    bare = re.sub(r"'[^']*'", "", _STRING.sub("", line)).partition("#")[0]
    depth = len(before) + bare.count("[") - bare.count("]")
    return "[" * max(0, depth)


def json_object(text: str) -> dict[str, Any]:
    """The object a JSON text holds.

    Raises:
        ValueError: it is no JSON, or no object.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("the file must hold one object")  # noqa: TRY004 -- the text is wrong, not our call
    return cast("dict[str, Any]", value)


def json_lines(text: str) -> Mapping[Place, int]:
    """The line of every key, counted from 1."""
    lines: dict[Place, int] = {}
    stack: list[str | int] = []
    containers: list[str] = []
    line, at = 1, 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', text):
        line += text.count("\n", at, token.start())
        at = token.start()
        mark = token[0]
        if mark in "{[":
            containers.append(mark)
            stack.append("" if mark == "{" else 0)
        elif mark in "}]":
            containers.pop()
            stack.pop()
        elif mark == ",":
            if containers[-1] == "[":
                stack[-1] = int(stack[-1]) + 1
        elif containers and containers[-1] == "{" and text[token.end() :].lstrip()[:1] == ":":
            stack[-1] = str(json.loads(mark))
            lines.setdefault(tuple(stack), line)
    return lines
