"""Places in a text, as editor tools and as a language server count them. Pure.

Editor tools count lines and columns from 1, columns in UTF-16 code units; a server counts from 0, in the units it was agreed upon
with it. What a server names beyond a line or a text is taken as its end, as the protocol says.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from sould.agents.tools.editor.anchors import Position, lines_of, units

Encoding: TypeAlias = Literal["utf-16", "utf-8", "utf-32"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-32", "utf-16", "utf-8")
"""The ones we can speak. Servers that have a choice count characters well, and UTF-16 less so."""
_ENDS: Final = re.compile(r"\r\n|\n|\r")


class Text:
    """A text whose places are asked for."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self.lines: Sequence[str] = lines_of(text)
        self._encoding: Encoding = encoding
        self._starts: list[int] | None = None

    def to_server(self, position: Position) -> dict[str, int]:
        """A place of ours, for the server."""
        line = self._line(position.line - 1)
        index = _index_of(line, position.column - 1, "utf-16")
        return {"line": position.line - 1, "character": _size(line[:index], self._encoding)}

    def from_server(self, line: int, character: int) -> Position:
        """A place that the server named."""
        if line >= len(self.lines):
            return Position(len(self.lines), units(self.lines[-1]) + 1)
        text = self.lines[line]
        if self._encoding == "utf-16":
            return Position(line + 1, min(character, units(text)) + 1)
        return Position(line + 1, units(text[: _index_of(text, character, self._encoding)]) + 1)

    def offset(self, line: int, character: int) -> int:
        """The index in the text of a place that the server named."""
        if line >= len(self.lines):
            return len(self.text)
        if self._starts is None:
            self._starts = [0, *(end.end() for end in _ENDS.finditer(self.text))]
        return self._starts[line] + _index_of(self.lines[line], character, self._encoding)

    def _line(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""


def encoding_of(said: object) -> Encoding:
    """What a server said that it counts in; the protocol's own where it said nothing we know."""
    for each in ENCODINGS:
        if each == said:
            return each
    return "utf-16"


def _size(text: str, encoding: Encoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return units(text) if encoding == "utf-16" else len(text.encode("utf-8", "surrogatepass"))


def _index_of(line: str, count: int, encoding: Encoding) -> int:
    """The index of the character that so many units stand before; one that is halved begins there."""
    if encoding == "utf-32" or line.isascii():
        return min(count, len(line))
    for index, char in enumerate(line):
        count -= _size(char, encoding)
        if count < 0:
            return index
    return len(line)
