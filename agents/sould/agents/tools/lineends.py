"""Line ends: models write LF, files keep what they have. Pure functions over text."""

from bisect import bisect_left

from msgspec import Struct

CRLF = "\r\n"
BOM = "\ufeff"


def dominant(text: str) -> str | None:
    """The line end most lines of `text` have; None when it has no line end."""
    crlf = text.count(CRLF)
    bare = text.count("\n") - crlf
    if not crlf and not bare:
        return None
    return CRLF if crlf > bare else "\n"


def with_line_ends(text: str, end: str | None) -> str:
    """`text` with every LF or CRLF written as `end`; None leaves it alone."""
    if end is None:
        return text
    plain = text.replace(CRLF, "\n")
    return plain.replace("\n", CRLF) if end == CRLF else plain


class LfText(Struct, frozen=True):
    """A text with LF line ends, and the way back to positions in the original."""

    text: str
    crlf: tuple[int, ...]
    """Where in `text` the LF was a CRLF, ascending."""

    @classmethod
    def of(cls, original: str) -> "LfText":
        """The plain form of `original`."""
        positions: list[int] = []
        at = original.find(CRLF)
        while at >= 0:
            positions.append(at - len(positions))
            at = original.find(CRLF, at + 2)
        return cls(original.replace(CRLF, "\n"), tuple(positions))

    def original(self, index: int) -> int:
        """The original position of `index`; before a CRLF, never inside one."""
        return index + bisect_left(self.crlf, index)
