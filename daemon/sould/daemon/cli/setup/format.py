"""What setup does to a text, whatever language it is in: adding what is ours, and taking back exactly that. Pure.

In some files that is a block of lines between two marks; nothing outside of it is looked at.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class UnfitError(Exception):
    """Nothing was changed. The text is a clause without a full stop, which comes behind the editor's name and a colon."""


class Launch(Struct, frozen=True):
    """How an editor starts sould, as its configuration says."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = {}


class Format(Protocol):
    """One kind of configuration. Every method raises UnfitError for a text that it cannot read."""

    def added(self, text: str) -> str:
        """The text with what is ours; the same text where that is there already."""
        ...

    def taken(self, before: str | None, after: str, text: str) -> str:
        """`text` without what is ours, whatever else was changed since it was `after`; "" is no file."""
        ...

    def meaning(self, text: str) -> object:
        """What it says, for comparing: blanks and comments do not count."""
        ...

    def launch(self, text: str) -> Launch | None:
        """How sould is started; None where the text does not name it."""
        ...

    def manual(self) -> str:
        """What the user would write by hand."""
        ...


def taken_back(form: Format, before: str | None, after: str, text: str) -> str:
    """`text` with what lies between `before` and `after` taken back.

    To the byte where what was written stands as it was written; else as far as what it says goes.

    Raises:
        UnfitError: it cannot be read any more.
    """
    original = before or ""
    if text == after:
        return original
    thorough = form.taken(before, after, text)
    start = _shared(original, after)
    rest = _shared(original[start:][::-1], after[start:][::-1])
    written, replaced = after[start : len(after) - rest], original[start : len(original) - rest]
    if not written or text.count(written) != 1:
        return thorough
    exact = text.replace(written, replaced)
    try:
        return exact if form.meaning(exact) == form.meaning(thorough) else thorough
    except UnfitError:
        return thorough


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


class Marks(Struct, frozen=True):
    """The first and the last line of a block."""

    begin: str
    end: str

    def around(self, text: str) -> str:
        """The block."""
        return f"{self.begin}\n{text}{self.end}\n"

    def span(self, text: str) -> tuple[int, int] | None:
        """Where the first block is: whole lines. None where there is none, or no end of it."""
        start = _line(text, self.begin, 0)
        if start < 0:
            return None
        last = _line(text, self.end, start)
        if last < 0:
            return None
        behind = text.find("\n", last)
        return start, behind + 1 if behind >= 0 else len(text)

    def placed(self, text: str, inside: str, at: int) -> str:
        """`text` with the block: where one is already, else at that place, parted from what is before by an empty line."""
        newline = "\r\n" if "\r\n" in text else "\n"
        block = self.around(inside).replace("\n", newline)
        if (there := self.span(text)) is not None:
            return text[: there[0]] + block + text[there[1] :]
        gap = "" if not text[:at] or text[:at].endswith("\n") else newline
        return f"{text[:at]}{gap}{newline if text[:at].strip() else ''}{block}{text[at:]}"

    def taken(self, before: str | None, text: str) -> str:
        """`text` without its blocks; "" where nothing else is in a file that was not there `before`."""
        rest = self.without(text)
        return "" if before is None and not rest.strip() else rest

    def without(self, text: str) -> str:
        """`text` without its blocks, and without the empty line that parts each from what is before it."""
        while (found := self.span(text)) is not None:
            start, end = found
            before = text[:start].removesuffix("\n")
            before = before.removesuffix("\r") if len(before) < start else before
            text = (before if before.endswith("\n") else text[:start]) + text[end:]
        return text


def _line(text: str, line: str, start: int) -> int:
    """Where a line stands that is exactly this; -1: nowhere."""
    at = text.find(line, start)
    while at >= 0:
        behind = text[at + len(line) : at + len(line) + 2]
        if (at == 0 or text[at - 1] == "\n") and (not behind or behind[0] == "\n" or behind == "\r\n"):
            return at
        at = text.find(line, at + 1)
    return -1
