"""Notes on disk of which sessions wait for a person, and since when, so that the next daemon can say so before it opens them.

A hint only: what a session waits for stands in its journal. A note that is lost or out of date costs a look at most.
"""

import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sould.agents.base.errors import why_refused
from sould.agents.base.privatefile import write_private

if TYPE_CHECKING:
    from sould.agents.sessions.store.store import DoLater

logger = logging.getLogger(__name__)


def load_notes(directory: Path) -> dict[str, dict[str, float]]:
    """By session: the ids of its requests, and since when each waits, in wall seconds. Blocks."""
    found: dict[str, dict[str, float]] = {}
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            with contextlib.suppress(OSError, msgspec.DecodeError):
                found[path.name] = msgspec.json.decode(path.read_bytes(), type=dict[str, float])
    return found


class WaitingNotes:
    """One small file for each session, in a directory of their own."""

    def __init__(self, directory: Path, later: "DoLater") -> None:
        """`later` writes them, in the order in which they come."""
        self._directory = directory
        self._later = later

    def load(self) -> dict[str, dict[str, float]]:
        """See `load_notes`."""
        return load_notes(self._directory)

    def note(self, session_id: str, since: Mapping[str, float]) -> None:
        """What a session waits for now; nothing of it is noted when that is nothing."""
        self._later(partial(self._write, session_id, msgspec.json.encode(since) if since else b""))

    def _write(self, session_id: str, data: bytes) -> None:
        path = self._directory / session_id
        try:
            if data:
                self._directory.mkdir(mode=0o700, exist_ok=True)
                write_private(path, data)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("what session %s waits for cannot be noted: %s", session_id, why_refused(error))
