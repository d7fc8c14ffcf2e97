"""Output of a tool, kept within what a model can read: head and tail, long lines cut, the whole in a file (D7, D30).

Bounded memory for any input, at the speed of a copy; it never judges content and never raises for a full disk.
"""

import contextlib
import os
from collections import deque
from pathlib import Path

from pydantic import JsonValue

from sould.agents.toolapi.base import tool_error, tool_ok
from sould.agents.wire.display import DisplayBlock
from sould.agents.wire.messages import ToolReturn

LIMIT = 50_000
LINE_LIMIT = 2_000
SPILL_LIMIT = 64 * 1024 * 1024
LINE_MARK = " [...]"
LEFT_OUT = "characters left out here"
"""Stands where the middle of an output is missing."""
GAP_ROOM = 100
"""Characters set aside for the line that says what is missing in the middle."""


class ToolResultBuilder:
    """Takes output as it comes and gives a `ToolReturn` whose output has at most `limit` characters, `line_limit` a line.

    With `spill`, the first cut creates that file (0600) and the whole output goes there, up to 64 MiB. End with
    `ok`, `error` or `close`.
    """

    def __init__(self, *, spill: Path | None = None, limit: int = LIMIT, line_limit: int = LINE_LIMIT) -> None:
        if limit < 4 * GAP_ROOM or line_limit < GAP_ROOM:
            raise ValueError("limits too small to say what was cut")
        self.characters = 0
        """Characters written in all."""
        self._limit = limit
        self._line_limit = line_limit
        self._half = (limit - GAP_ROOM) // 2
        self._whole: list[str] = []
        self._over = False
        self._column = 0
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._gap = False
        self._spill = _Spill(spill) if spill is not None else None

    def write(self, text: str) -> None:
        """Take more output."""
        self.characters += len(text)
        if not self._over:
            self._whole.append(text)
            if self.characters <= self._limit and not self._has_long_line(text):
                return
            self._over = True
            self._column = 0
            text = "".join(self._whole)
            self._whole.clear()
        if self._spill is not None:
            self._spill.write(text)
        self._keep(self._within_lines(text))

    def ok(
        self,
        message: str = "",
        *,
        display: tuple[DisplayBlock, ...] = (),
        extras: dict[str, JsonValue] | None = None,
    ) -> ToolReturn:
        """A success with the output; `message` gets a sentence about what was cut."""
        output, cut = self.finish()
        return tool_ok(output, message=f"{message} {cut}".strip(), display=display, extras=extras)

    def error(self, message: str, *, brief: str = "", display: tuple[DisplayBlock, ...] = ()) -> ToolReturn:
        """A failure with the output so far."""
        output, cut = self.finish()
        return tool_error(f"{message} {cut}".strip(), brief=brief, output=output, display=display)

    def finish(self) -> tuple[str, str]:
        """The output within its limits, and a sentence about what was cut (empty when nothing was)."""
        self.close()
        if not self._over:
            return "".join(self._whole), ""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self._gap and len(head) + len(tail) <= self._limit:
            text = self._shorten_lines(head + tail)
            said = f"Lines longer than {self._line_limit} characters were cut."
        else:
            head, tail = self._shorten_lines(head), self._shorten_lines(tail)[-self._half :]
            tail = tail[tail.find("\n", 0, self._line_limit) + 1 :]
            missing = self.characters - len(head) - len(tail)
            text = f"{head}\n[... {missing} of {self.characters} {LEFT_OUT} ...]\n{tail}"
            said = f"Only the first and last part of {self.characters} characters of output are shown."
        return text, f"{said} {self._spill.where()}".strip() if self._spill is not None else said

    def close(self) -> None:
        """Close the spill file, if there is one; more than once does no harm."""
        if self._spill is not None:
            self._spill.close()

    def _has_long_line(self, text: str) -> bool:
        first, *others = text.split("\n")
        longest = max(self._column + len(first), *map(len, others), 0)
        self._column = len(others[-1]) if others else self._column + len(first)
        return longest > self._line_limit

    def _within_lines(self, text: str) -> str:
        """`text` with each line kept to one character more than its limit: enough to see later that it was longer.

        Steps from newline to newline as far as a line may reach, so the cost is a copy whatever the line length.
        """
        most = self._line_limit + 1
        pieces: list[str] = []
        at, size = 0, len(text)
        while at < size:
            room = max(0, most - self._column)
            last = text.rfind("\n", at, at + room + 1)
            if last >= 0:
                pieces.append(text[at : last + 1])
                at, self._column = last + 1, 0
                continue
            pieces.append(text[at : at + room])
            following = text.find("\n", min(size, at + room))
            end = following if following >= 0 else size
            self._column += end - at
            at = end
        return "".join(pieces)

    def _keep(self, text: str) -> None:
        room = self._half - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += len(self._head[-1])
            text = text[room:]
        if not text:
            return
        most = self._limit - self._half
        if len(text) > most:
            self._gap = True
            text = text[-most:]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) >= most:
            self._gap = True
            self._tail_size -= len(self._tail.popleft())

    def _shorten_lines(self, text: str) -> str:
        kept = self._line_limit - len(LINE_MARK)
        return "\n".join(
            line if len(line) <= self._line_limit else line[:kept] + LINE_MARK for line in text.split("\n")
        )


class _Spill:
    """The file that takes the whole output. A disk that refuses it costs the file, never the call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._size = 0
        self._state = "unused"

    def write(self, text: str) -> None:
        if self._state == "unused":
            self._open()
        if self._fd is None:
            return
        data = text.encode("utf-8", errors="replace")[: SPILL_LIMIT - self._size]
        try:
            while data:
                written = os.write(self._fd, data)
                self._size += written
                data = data[written:]
        except OSError:
            self._state = "failed"
            self.close()
            return
        if self._size >= SPILL_LIMIT:
            self._state = "full"
            self.close()

    def _open(self) -> None:
        try:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._state = "whole"
        except OSError:
            self._state = "failed"

    def close(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None

    def where(self) -> str:
        """A sentence that says where the rest is."""
        if self._state == "whole":
            return f"The whole output is in {self._path}."
        if self._state == "full":
            return f"Its first {SPILL_LIMIT // (1024 * 1024)} MiB are in {self._path}."
        return "The rest could not be kept."
