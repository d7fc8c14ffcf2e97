"""Documents of editors that show every end of a line as LF (Emacs), while the file has CR LF: here they are as the file has them.

The protocol does not say what an editor does. It hides them when a file has CR LF at the end of each line and the editor's text has
no CR at all. Which documents those are is all that is kept here.
"""

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sould.agents.base.regularfile import read_regular
from sould.agents.clients.review.reports import BufferChange, Report

MOST_READ: Final = 32_000_000
"""Bytes of a file that are looked at."""


class LineEnds:
    """Of one editor window."""

    def __init__(self) -> None:
        self._hidden: set[Path] = set()

    def hides(self, path: Path) -> bool:
        """The editor shows the CR LF of a file as LF."""
        return path in self._hidden

    def hide(self, path: Path) -> None:
        """The same, as an earlier daemon found out."""
        self._hidden.add(path)

    def decide(self, path: Path, text: str) -> None:
        """Find out by the whole text that the editor has of a file. Blocks."""
        if "\r" not in text and _has_cr(path):
            self._hidden.add(path)
        else:
            self._hidden.discard(path)

    def forget(self, path: Path) -> None:
        """It is closed."""
        self._hidden.discard(path)

    def inward(self, path: Path, report: Report) -> Report:
        """What the editor says of a file, as the file has it."""
        if path not in self._hidden:
            return report
        text = report.text.replace("\n", "\r\n") if report.text is not None else None
        changes = tuple(BufferChange(each.text.replace("\n", "\r\n"), each.start, each.stop) for each in report.changes)
        return replace(report, text=text, changes=changes)

    def outward(self, path: Path, text: str) -> str:
        """A text for the editor's buffer."""
        return text.replace("\r\n", "\n") if path in self._hidden else text


def _has_cr(path: Path) -> bool:
    """CR LF ends each line of a file, and there is one."""
    try:
        data = read_regular(path, MOST_READ)
    except OSError:
        return False
    ends = data.count(b"\r\n")
    return ends > 0 and data.count(b"\n") == ends
