"""Output of programs as plain text: decoded as it comes, without what would move a cursor or reach a terminal.

Never judges content and never holds more than an unfinished character or escape sequence.
"""

import asyncio
import codecs
import re
from collections.abc import Callable
from typing import Final, TypeAlias

UPDATE_SECONDS: Final = 0.05
"""At most twenty updates a second."""
UPDATE_SIZE: Final = 16 * 1024
"""Characters of one update; of more, the first and last part are shown."""

_LONGEST_SEQUENCE: Final = 4096
_SEQUENCE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_UNFINISHED: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z|\x9b[0-?]*[ -/]*\Z|\r\Z"
)
_LINE_END: Final = re.compile(r"\r+\n?")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERASE: Final = re.compile(r"\x1b\[[0-2]?K")
_ERASED: Final = "\v"
_RETURNS: Final = re.compile(r"\r+")
_KEPT_APART: Final = re.compile(r"[\x00-\x08\x0c\x0e-\x1f\x7f-\x9f]")
_LONGEST_FRAME: Final = 16 * 1024


class PlainText:
    """Bytes in, text out: UTF-8 with marks for what is not, no escape sequences or control characters, Unix line ends.

    With `frames` a carriage return that begins a line anew is left, and a vertical tab stands where the rest of the line was erased: for
    `LastFrames`. Else both are new lines, or nothing.
    """

    def __init__(self, *, frames: bool = False) -> None:
        self._frames = frames
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """The text that is certain by now."""
        return self._clean(self._decoder.decode(data), final=False)

    def finish(self) -> str:
        """What was held back."""
        return self._clean(self._decoder.decode(b"", final=True), final=True)

    def _clean(self, text: str, *, final: bool) -> str:
        text = self._held + text
        self._held = ""
        if _CONTROL.search(text) is None:
            return text
        if self._frames:
            text = _ERASE.sub(_ERASED, text.replace(_ERASED, ""))
        text = _SEQUENCE.sub("", text)
        if not final and (cut := _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))) is not None:
            self._held = text[cut.start() :]
            text = text[: cut.start()]
        if self._frames:
            return _KEPT_APART.sub("", _RETURNS.sub("\r", text.replace("\r\n", "\n")))
        return _CONTROL.sub("", _LINE_END.sub("\n", text))


def each_frame(text: str) -> str:
    """Text with frames, with each of them as a line."""
    return text.replace(_ERASED, "").replace("\r", "\n")


class LastFrames:
    """Text with frames in, lines out: of one that is written over again and again, as by a progress bar, the last state.

    What was passed on of a line before it was written over stays, as a line of its own.
    """

    def __init__(self) -> None:
        self._frame: list[str] | None = None
        """The line's state since it was written over."""
        self._at = 0
        """Where the next character goes."""
        self._has_begun = False
        """Something of the line was passed on."""

    def feed(self, text: str) -> str:
        """The text that is certain by now."""
        if self._frame is None and "\r" not in text:
            self._has_begun = not text.endswith("\n") if text else self._has_begun
            return text.replace(_ERASED, "")
        first, *others = text.split("\n")
        pieces = [self._more(first)]
        for line in others:
            pieces += self._end_of_line(), "\n", self._more(line)
        return "".join(pieces)

    def finish(self) -> str:
        """What was held back."""
        return self._end_of_line()

    def _more(self, text: str) -> str:
        passed = ""
        if self._frame is None:
            passed, written_over, text = text.partition("\r")
            self._has_begun |= bool(passed)
            if not written_over:
                return passed.replace(_ERASED, "")
            self._frame, self._at = [], 0
        for number, frame in enumerate(text.split("\r")):
            self._write(frame, 0 if number else self._at)
        if len(self._frame) > _LONGEST_FRAME:
            passed += self._end_of_line()
            self._has_begun = True
        return passed.replace(_ERASED, "")

    def _write(self, text: str, at: int) -> None:
        line = self._frame or []
        for number, part in enumerate(text.split(_ERASED)):
            if number:
                del line[at:]
            line[at : at + len(part)] = part
            at += len(part)
        self._frame, self._at = line, at

    def _end_of_line(self) -> str:
        line = "".join(self._frame or ()).rstrip(" ")
        below = "\n" if self._has_begun and line else ""
        self._frame, self._has_begun = None, False
        return below + line


ShowText: TypeAlias = Callable[[str], None]
"""Shows output behind what was shown before. Must not block."""


class Updates:
    """Passes text on at once when it has been quiet, else gathered, twenty times a second. End it with `close`."""

    def __init__(self, show: ShowText) -> None:
        self._show = show
        self._gathered: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def write(self, text: str) -> None:
        """Show `text` now or soon."""
        if not text:
            return
        self._gathered.append(text)
        if self._timer is None:
            self._flush()
        elif len(self._gathered) > 64:
            self._gathered = [_within(self._gathered)]

    def close(self) -> None:
        """Show what is left; nothing is shown after."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered:
            self._show(_within(self._gathered))
            self._gathered.clear()

    def _flush(self) -> None:
        self._timer = None
        if self._gathered:
            self._show(_within(self._gathered))
            self._gathered.clear()
            self._timer = asyncio.get_running_loop().call_later(UPDATE_SECONDS, self._flush)


def _within(pieces: list[str]) -> str:
    text = "".join(pieces)
    if len(text) <= UPDATE_SIZE:
        return text
    half = UPDATE_SIZE // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"
