"""Output of programs as plain text: decoded as it comes, without what would move a cursor or reach a terminal (F78).

Never judges content and never holds more than an unfinished character or escape sequence.
"""

import asyncio
import codecs
import re
from typing import Final, Protocol

UPDATE_SECONDS: Final = 0.05
"""At most twenty updates a second (F53)."""
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


class PlainText:
    """Bytes in, text out: UTF-8 with marks for what is not, no escape sequences or control characters, Unix line ends."""

    def __init__(self) -> None:
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
        text = _SEQUENCE.sub("", text)
        if not final and (cut := _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))) is not None:
            self._held = text[cut.start() :]
            text = text[: cut.start()]
        return _CONTROL.sub("", _LINE_END.sub("\n", text))


class ShowText(Protocol):
    """Where output is shown while it comes."""

    def __call__(self, text: str, /) -> None:
        """Show it behind what was shown before; must not block."""
        ...


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
