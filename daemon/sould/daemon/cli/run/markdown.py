"""An answer in Markdown as a terminal shows it, in whole blocks while it streams. Text is made safe before; a file gets it as it is."""

import io
import re
import shutil
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
LEAST_COLUMNS: Final = 20


class Blocks:
    """The text that has come and is not shown yet. A block is whole when the next one has begun. Each line is looked at once."""

    def __init__(self) -> None:
        self._text = ""
        self._read = 0
        """Where the first line begins that is not whole."""
        self._fence = ""
        """What a block of code began with that is open there."""
        self._blank = False
        """The last whole line has no words."""
        self._end = 0
        """Of the blocks that are whole."""

    def take(self, text: str) -> str:
        """More of it; the blocks that are whole now."""
        self._text += text
        while (end := self._text.find("\n", self._read)) >= 0:
            self._take_line(self._text[self._read : end])
            self._read = end + 1
        self._look_for_block(self._text[self._read : self._read + 1])
        return self._cut(self._end)

    def rest(self) -> str:
        """All that is left: the message is over, or something else comes."""
        self._fence, self._blank = "", False
        return self._cut(len(self._text))

    def _take_line(self, line: str) -> None:
        self._look_for_block(line)
        self._blank = not line.strip()
        found = _FENCE.match(line)
        if found is not None and not self._fence:
            self._fence = found[1]
        elif found is not None and found[1].startswith(self._fence):
            self._fence = ""

    def _look_for_block(self, line: str) -> None:
        """One begins with a line behind a blank one, outside of code, that is not indented: that goes on with a list."""
        if self._blank and not self._fence and line[:1].strip():
            self._end = self._read

    def _cut(self, end: int) -> str:
        whole, self._text = self._text[:end], self._text[end:]
        self._read, self._end = max(0, self._read - end), 0
        return whole if whole.strip() else ""

    @staticmethod
    def rendered(text: str) -> str:
        """For a terminal of this width, without blank lines around it."""
        from rich.console import Console  # noqa: PLC0415 -- only where something is shown
        from rich.markdown import Markdown  # noqa: PLC0415 -- as above

        out = io.StringIO()
        columns = max(LEAST_COLUMNS, shutil.get_terminal_size().columns)
        console = Console(file=out, force_terminal=True, width=columns, highlight=False)
        console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
        lines = "\n".join(line.rstrip(" ") for line in out.getvalue().split("\n"))
        return lines.strip("\n") + "\n"
