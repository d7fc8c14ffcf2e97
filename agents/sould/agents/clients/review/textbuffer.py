"""A text that an editor reports piece by piece, with the editor's positions: lines from 0, columns in code units. Pure."""

from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.review.lines import split

PositionEncoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""What a client's columns count."""


class Position(Struct, frozen=True, order=True):
    """A place between two characters. Behind a line's end, or the last line, it is that end."""

    line: int
    character: int


class TextBuffer:
    """One text. What is replaced costs its own size, and the number of lines once."""

    def __init__(self, text: str, encoding: PositionEncoding = "utf-16") -> None:
        self._encoding: PositionEncoding = encoding
        self._lines = list(split(text))
        self.size = len(text)
        """Characters."""

    @property
    def text(self) -> str:
        """As it is."""
        return "".join(self._lines)

    def has(self, at: Position) -> bool:
        """Its line is there, or the next one that could be."""
        return at.line <= len(self._lines)

    def replace(self, start: Position, stop: Position, text: str) -> None:
        """Put a text in the place of another. `start` is not behind `stop`."""
        first, last = min(start.line, len(self._lines)), min(stop.line, len(self._lines))
        above, below = self._lines[max(0, first - 1) : first], self._lines[last + 1 : last + 2]
        between = self._head(start) + text + self._tail(stop)
        replaced = self._lines[max(0, first - 1) : last + 2]
        now = "".join((*above, between, *below))  # with both neighbours: what are two ends may be one now, or none
        self._lines[max(0, first - 1) : last + 2] = split(now)
        self.size += len(now) - sum(map(len, replaced))

    def _head(self, at: Position) -> str:
        return before(self._lines[at.line], at.character, self._encoding) if at.line < len(self._lines) else ""

    def _tail(self, at: Position) -> str:
        if at.line >= len(self._lines):
            return ""
        line = self._lines[at.line]
        return line[len(before(line, at.character, self._encoding)) :]


def before(line: str, units: int, encoding: PositionEncoding) -> str:
    """The characters of a line before a column; its end is not among them. A column within a character is before it."""
    body = line.rstrip("\r\n")
    if body.isascii() or encoding == "utf-32":
        return body[:units]
    if encoding == "utf-8":
        return body.encode("utf-8", "surrogatepass")[:units].decode("utf-8", "ignore")
    return body.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")


def units(text: str, encoding: PositionEncoding) -> int:
    """How many columns a text takes."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
