"""One member of a JSON document with comments: read, put and removed where it stands, so that every other byte stays.

What editors accept is accepted: comments, commas behind the last item, a byte order mark, an empty file. Pure: texts in,
texts out. Never is a document written anew, and never is one guessed at: what cannot be read raises.
"""

import json
import re
from collections.abc import Sequence
from typing import TypeAlias, cast

from msgspec import Struct
from pydantic import JsonValue

Path: TypeAlias = Sequence[str]
"""The names of members, from the root on."""

MOST_DEPTH = 200

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x08\x0a-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null", re.ASCII)
_REST_OF_LINE = re.compile(r"(?:[ \t]|(?>/\*[^\n]*?\*/))*(?://[^\r\n]*)?(?=\r?\n)")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_INDENTED = re.compile(r'\n([ \t]{1,8})"')


class JsoncError(ValueError):
    """It is not JSON with comments; one sentence with the line."""


class _Node(Struct, frozen=True):
    """A value, and where it stands. `members` of an object, by name: where the name begins, and the value."""

    start: int
    end: int
    value: JsonValue
    members: dict[str, "tuple[int, _Node]"] | None = None


def parse(text: str) -> JsonValue:
    """What a document says; None for one that is empty.

    Raises:
        JsoncError: it is none.
    """
    root = _Reader(text).document()
    return None if root is None else root.value


def get(document: JsonValue, path: Path) -> JsonValue:
    """The value at a path; None where there is none."""
    for name in path:
        if not isinstance(document, dict):
            return None
        document = document.get(name)
    return document


def put(text: str, path: Path, value: JsonValue) -> str:
    """`text` with this value at that path: in the place of what is there, else as the first member of its object.

    Objects on the way that are missing are made. Nothing else changes, by a byte.

    Raises:
        JsoncError: it cannot be read, or what is on the way is no object.
    """
    root = _Reader(text).document()
    if root is None:
        return _in_empty(text, _nested(path, value))
    node = root
    for place, name in enumerate(path):
        if node.members is None:
            inside = " → ".join(path[:place]) or "the document"
            raise JsoncError(f"{inside} is no object (line {_line(text, node.start)})")
        if name not in node.members:
            return _insert(text, node, name, _nested(path[place + 1 :], value))
        _, node = node.members[name]
    if node.value == value and type(node.value) is type(value):
        return text
    return text[: node.start] + _rendered(value, text, _line_indent(text, node.start)) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """`text` without the member at that path, and without the line it stood on where nothing else did.

    Raises:
        JsoncError: it cannot be read.
    """
    node, key_start, last = _Reader(text).document(), 0, False
    for name in path:
        if node is None or node.members is None or name not in node.members:
            return text
        last = list(node.members)[-1] == name
        key_start, node = node.members[name]
    if node is None:
        return text
    behind = _after_trivia(text, node.end)
    if text[behind : behind + 1] == ",":
        rest = text[node.end : behind] + text[behind + 1 :]
        start = _gap_start(text, key_start, rest)
        return text[:start] + (rest.lstrip(" \t") if start == key_start else rest)
    rest = text[node.end :]
    start = _gap_start(text, key_start, rest)
    comma = _comma_before(text, key_start) if last else -1
    return (text[:comma] + text[comma + 1 : start] if comma >= 0 else text[:start]) + rest


def restored(text: str, path: Path, before: str) -> str:
    """`text` with what `before` has at that path, byte for byte; without that member where `before` has none.

    Raises:
        JsoncError: one of them cannot be read.
    """
    old, new = _found(before, path), _found(text, path)
    if old is None or new is None:
        return remove(text, path)
    return text[: new.start] + before[old.start : old.end] + text[new.end :]


def _found(text: str, path: Path) -> _Node | None:
    node = _Reader(text).document()
    for name in path:
        if node is None or node.members is None or name not in node.members:
            return None
        _, node = node.members[name]
    return node


def _gap_start(text: str, at: int, rest: str) -> int:
    """Where the line begins that goes with a member; where the member begins if `rest` is on that line, too."""
    start = len(text[:at].rstrip(" \t"))
    if not text[:start].endswith("\n") or not _LINE_END.match(rest):
        return at
    return start - 1 - text[:start].endswith("\r\n")


# --- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads a document once, from its beginning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> _Node | None:
        """The one value; None where there are only comments."""
        self._skip()
        if self._at == len(self._text):
            return None
        root = self._value(0)
        self._skip()
        if self._at != len(self._text):
            raise self._wrong("the end was expected")
        return root

    def _value(self, depth: int) -> _Node:
        if depth > MOST_DEPTH:
            raise self._wrong("it is nested too deeply")
        following = self._text[self._at : self._at + 1]
        if following == "{":
            return self._object(depth)
        if following == "[":
            return self._array(depth)
        start = self._at
        found = (_STRING if following == '"' else _SCALAR).match(self._text, start)
        if found is None:
            raise self._wrong("a value was expected")
        self._at = found.end()
        return _Node(start, self._at, cast("JsonValue", json.loads(found[0], strict=False)))

    def _object(self, depth: int) -> _Node:
        start, members = self._at, dict[str, tuple[int, _Node]]()
        self._at += 1
        while not self._closed("}", first=not members):
            name_start = self._at
            found = _STRING.match(self._text, name_start)
            if found is None:
                raise self._wrong("a name in quotes was expected")
            self._at = found.end()
            self._skip()
            if self._text[self._at : self._at + 1] != ":":
                raise self._wrong("`:` was expected")
            self._at += 1
            self._skip()
            name: str = json.loads(found[0], strict=False)
            members.pop(name, None)  # of two with one name the last one counts, everywhere
            members[name] = (name_start, self._value(depth + 1))
        values: dict[str, JsonValue] = {name: node.value for name, (_, node) in members.items()}
        return _Node(start, self._at, values, members)

    def _array(self, depth: int) -> _Node:
        start, values = self._at, list[JsonValue]()
        self._at += 1
        while not self._closed("]", first=not values):
            values.append(self._value(depth + 1).value)
        return _Node(start, self._at, values)

    def _closed(self, bracket: str, *, first: bool) -> bool:
        """Whether the bracket comes next, behind a comma or not; else the next item does, behind its comma."""
        self._skip()
        if not first and self._text[self._at : self._at + 1] == ",":
            self._at += 1
            self._skip()
        elif not first and self._text[self._at : self._at + 1] != bracket:
            raise self._wrong(f"`,` or `{bracket}` was expected")
        if self._text[self._at : self._at + 1] != bracket:
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        self._at = _after_trivia(self._text, self._at)

    def _wrong(self, expected: str) -> JsoncError:
        return JsoncError(f"line {_line(self._text, self._at)}: {expected}")


def _after_trivia(text: str, start: int) -> int:
    found = _TRIVIA.match(text, start)
    return found.end() if found else start


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _comma_before(text: str, at: int) -> int:
    """Where the comma is that parts what stands at `at` from what is before it; -1: it is the first.

    Comments are passed over from the front, for they may hold commas themselves.
    """
    found = -1
    place = 0
    while place < at:
        behind = _after_trivia(text, place)
        if behind > place:
            place = behind
            continue
        string = _STRING.match(text, place)
        found = place if text[place] == "," else -1
        place = string.end() if string else place + 1
    return found


# --- writing ---------------------------------------------------------------------------------------------------------


def _nested(path: Path, value: JsonValue) -> JsonValue:
    for name in reversed(path):
        value = {name: value}
    return value


def _in_empty(text: str, value: JsonValue) -> str:
    newline = _newline(text)
    gap = newline if text.strip("\ufeff") and not text.endswith("\n") else ""
    return text + gap + _rendered(value, text, "") + newline


def _insert(text: str, parent: _Node, name: str, value: JsonValue) -> str:
    """A new first member: where its object has a line to itself for each, so does this one."""
    at, newline = parent.start + 1, _newline(text)
    first = min((start for start, _ in (parent.members or {}).values()), default=-1)
    outer = _line_indent(text, parent.start)
    inner = outer + _unit(text)
    if first >= 0:
        if "\n" not in text[at:first]:
            return f"{text[:first]}{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}, {text[first:]}"
        if not text[text.rfind("\n", 0, first) + 1 : first].strip(" \t"):
            inner = _line_indent(text, first)
    rest = _REST_OF_LINE.match(text, at)
    at = rest.end() if rest else at
    member = f"{newline}{inner}{json.dumps(name)}: {_rendered(value, text, inner)}"
    if first >= 0:
        return f"{text[:at]}{member},{text[at:]}"
    broken = "\n" in text[at : parent.end]
    return f"{text[:at]}{member}{'' if broken else newline + outer}{text[at:]}"


def _rendered(value: JsonValue, text: str, indent: str) -> str:
    """Lists stay on a line, as people write commands."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner, newline = indent + _unit(text), _newline(text)
    items = (f"{inner}{json.dumps(name)}: {_rendered(each, text, inner)}" for name, each in value.items())
    return f"{{{newline}{f',{newline}'.join(items)}{newline}{indent}}}"


def _newline(text: str) -> str:
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _unit(text: str) -> str:
    """One step of indentation: what the first indented member has."""
    found = _INDENTED.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
