"""A block of lines between two marks in somebody's file. Pure; what is inside is ours, and nothing outside is looked at."""

from msgspec import Struct


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
