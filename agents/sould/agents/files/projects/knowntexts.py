"""What the agents of a session know of files, beside the session, for the day it goes on: what others changed meanwhile is told then.

One line of JSON for each file an agent looked at, wrote or was told of; the last one counts. Nothing of a secret comes here, and
nothing depends on it: what cannot be read is not known. Blocks.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sould.agents.base.privatefile import write_private

NAME: Final = "known.jsonl"
MOST: Final = 4 * 1024 * 1024
"""Bytes beyond which only the last line of each file is kept, of the files that were known last: half as many bytes."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class KnownText(Struct, frozen=True, array_like=True):
    """An agent, "" being the session's own, knew at a time (seconds) that a file held this; None: that there is no file."""

    agent_id: str
    path: str
    text: str | None
    at: float


_DECODER: Final = msgspec.json.Decoder(KnownText)


class KnownTexts(Struct, frozen=True):
    """Of the session that keeps its things in `directory`; None: of nobody, so that nothing is kept."""

    directory: Path | None

    def add(self, known: Iterable[KnownText]) -> None:
        """These are known from now on."""
        if self.directory is None:
            return
        path = self.directory / NAME
        data = b"".join(msgspec.json.encode(each) + b"\n" for each in known)
        with contextlib.suppress(OSError):
            fd = os.open(path, _FLAGS, 0o600)
            with open(fd, "ab") as file:
                file.write(data)
                size = file.tell()
            if size > MOST:
                write_private(path, b"".join(_last(self.all())))

    def all(self) -> list[KnownText]:
        """The last of each file, those that were known last at the end."""
        found: dict[tuple[str, str], KnownText] = {}
        with contextlib.suppress(OSError):
            for line in (self.directory / NAME).read_bytes().splitlines() if self.directory is not None else ():
                with contextlib.suppress(msgspec.MsgspecError):
                    known = _DECODER.decode(line)
                    found.pop((known.agent_id, known.path), None)
                    found[known.agent_id, known.path] = known
        return list(found.values())


def _last(known: Sequence[KnownText]) -> list[bytes]:
    """Their lines, from the end on, as many as there is room for."""
    lines: list[bytes] = []
    room = MOST // 2
    for each in reversed(known):
        lines.append(msgspec.json.encode(each) + b"\n")
        room -= len(lines[-1])
        if room < 0:
            break
    return lines[::-1]
