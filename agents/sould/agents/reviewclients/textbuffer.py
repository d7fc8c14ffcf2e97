"""A text that an editor reports piece by piece, with the editor's positions: lines from 0, columns in UTF-16 code units. Pure."""

from msgspec import Struct

from sould.agents.review.lines import split


class Position(Struct, frozen=True, order=True):
    """A place between two characters. Behind a line's end, or the last line, it is that end."""

    line: int
    character: int


class TextBuffer:
    """One text. What is replaced costs its own size, and the number of lines once."""

    def __init__(self, text: str) -> None:
        self._lines = list(split(text))
        self.size = len(text)
        """Characters."""

    @property
    def text(self) -> str:
        """As it is."""
        return "".join(self._lines)

    def replace(self, start: Position, stop: Position, text: str) -> None:
        """Put a text in the place of another. `start` is not behind `stop`."""
        first, last = min(start.line, len(self._lines)), min(stop.line, len(self._lines))
        above, below = self._lines[max(0, first - 1) : first], self._lines[last + 1 : last + 2]
        between = self._head(start) + text + self._tail(stop)
        before = self._lines[max(0, first - 1) : last + 2]
        now = "".join((*above, between, *below))  # with both neighbours: what are two ends may be one now, or none
        self._lines[max(0, first - 1) : last + 2] = split(now)
        self.size += len(now) - sum(map(len, before))

    def _head(self, at: Position) -> str:
        return _before(self._lines[at.line], at.character) if at.line < len(self._lines) else ""

    def _tail(self, at: Position) -> str:
        if at.line >= len(self._lines):
            return ""
        line = self._lines[at.line]
        return line[len(_before(line, at.character)) :]


def _before(line: str, units: int) -> str:
    """The characters of a line before a column; its end is not among them. A column within a character is before it."""
    body = line.rstrip("\r\n")
    if body.isascii():
        return body[:units]
    return body.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")
