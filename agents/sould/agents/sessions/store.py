"""Stored sessions: one directory each under `sessions/`, found by id, listed through an index.

Directories are the truth, the index only makes lists fast. An id is looked up, never joined to a path unseen (D15).
Nothing here opens a journal for writing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list shows of a session. Times are wall seconds; `title` is "" until the first prompt."""

    id: str
    cwd: Path
    additional: tuple[Path, ...] = ()
    title: str = ""
    created: float = 0.0
    updated: float = 0.0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Page(Generic[ItemT]):
    """One page of a list; `next_cursor` is None on the last."""

    items: tuple[ItemT, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session on disk."""

    info: SessionInfo
    directory: Path


class SessionStore:
    """All sessions of a state directory. Every method is synchronous and takes milliseconds at most."""

    def __init__(self, state: Path) -> None:
        """`state` is the state directory; made, 0700, when it is missing."""

    def create(self, cwd: Path, *, additional: Sequence[Path] = ()) -> StoredSession:
        """A new session's directory, with an id of ours."""
        raise NotImplementedError

    def find(self, session_id: str) -> StoredSession:
        """The session with this id, whether the index knows it or not.

        Raises:
            SessionNotFoundError: there is none.
        """
        raise NotImplementedError

    def list(self, cwd: Path | None = None, cursor: str | None = None, limit: int = 50) -> Page[SessionInfo]:
        """Sessions, most recently updated first; `cwd`: only that directory's. A cursor of ours goes on after it.

        Raises:
            OptionError: a cursor that is not ours.
        """
        raise NotImplementedError

    def touch(
        self, session_id: str, *, prompt: str = "", turns: int | None = None, additional: Sequence[Path] | None = None
    ) -> SessionInfo:
        """The session was used just now. `prompt` becomes the title of a session without one."""
        raise NotImplementedError

    def rename(self, session_id: str, title: str) -> SessionInfo:
        """Give it a title; "" goes back to none, to be taken from the next prompt."""
        raise NotImplementedError

    def delete(self, session_id: str) -> None:
        """Remove it with everything in it.

        Raises:
            SessionNotFoundError: there is none.
            SessionOpenElsewhereError: somebody writes to it.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the index."""
        raise NotImplementedError
