"""A cursor over a text that knows line and column, for the flow parsers."""

import re
from bisect import bisect_right
from typing import NoReturn

from msgspec import Struct, field

from sould.agents.soul.flows.graph import FlowError, FlowProblem, SourcePlace

_LINE_END = re.compile(r"\n")


class Scanner(Struct):
    """`offset` is the number of lines before the text in its file. Lines may end as they do on Windows."""

    text: str
    offset: int = 0
    at: int = 0
    _starts: list[int] = field(default_factory=list[int])
    """Where each line begins."""

    def __post_init__(self) -> None:
        self.text = self.text.replace("\r\n", "\n")
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @property
    def done(self) -> bool:
        """Nothing is left."""
        return self.at >= len(self.text)

    @property
    def place(self) -> SourcePlace:
        """Of the next character."""
        return self.place_of(self.at)

    def place_of(self, at: int) -> SourcePlace:
        """Of the character at `at`."""
        line = bisect_right(self._starts, at)
        return SourcePlace(self.offset + line, at - self._starts[line - 1] + 1)

    def take(self, pattern: "re.Pattern[str]") -> "re.Match[str] | None":
        """What matches here, consumed."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def move_to(self, at: int) -> None:
        """Read on at `at`, before or behind where it stands."""
        self.at = at

    def literal(self, text: str) -> bool:
        """Consume `text` if it stands here."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def until(self, closing: str, message: str, start: int) -> str:
        """What stands before `closing`, which is consumed, too; without it the error is at `start`."""
        end = self.text.find(closing, self.at)
        if end < 0:
            self.fail(message, start)
        found, self.at = self.text[self.at : end], end + len(closing)
        return found

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise a `FlowError` here or at `at`."""
        raise FlowError(FlowProblem(message, self.place_of(self.at if at is None else at)))

    def unexpected(self) -> NoReturn:
        """Raise a `FlowError` that names what stands here."""
        line = self.text[self.at :].split("\n", 1)[0].strip()
        self.fail(f"{line[:30]!r} is not expected here" if line else "the line ends too early")
