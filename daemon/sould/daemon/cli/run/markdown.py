"""An answer in Markdown as a terminal shows it, in whole blocks while it streams. Text is made safe before; a file gets it as it is."""

import io
import os
import re
import shutil
import sys
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_BREAK: Final = re.compile(r"\n[ \t]*\n(?=[^\s])")
LEAST_COLUMNS: Final = 20


def is_rendered() -> bool:
    """Whether standard output is a terminal that can show more than plain text."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Blocks:
    """The text that has come and is not shown yet. A block is whole when the next one has begun."""

    def __init__(self) -> None:
        self._text = ""

    def take(self, text: str) -> str:
        """More of it; the blocks that are whole now."""
        self._text += text
        ends = [found.end() for found in _BREAK.finditer(self._text) if not _in_fence(self._text[: found.end()])]
        return self._cut(ends[-1]) if ends else ""

    def rest(self) -> str:
        """All that is left: the message is over, or something else comes."""
        return self._cut(len(self._text))

    def _cut(self, end: int) -> str:
        whole, self._text = self._text[:end], self._text[end:]
        return whole if whole.strip() else ""


def rendered(text: str) -> str:
    """For a terminal of this width."""
    from rich.console import Console  # noqa: PLC0415 -- only where something is shown
    from rich.markdown import Markdown  # noqa: PLC0415 -- as above

    out = io.StringIO()
    columns = max(LEAST_COLUMNS, shutil.get_terminal_size().columns)
    console = Console(file=out, force_terminal=True, width=columns, highlight=False)
    console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    return "\n".join(line.rstrip(" ") for line in out.getvalue().split("\n"))


def _in_fence(text: str) -> bool:
    """Whether a block of code is open at the end of it."""
    open_by = ""
    for found in _FENCE.finditer(text):
        mark = found[1]
        if not open_by:
            open_by = mark
        elif mark.startswith(open_by):
            open_by = ""
    return bool(open_by)
