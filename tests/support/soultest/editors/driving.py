"""What every editor of these tests can be told to do and asked, as its user does: keys, its own menus, what its buffers hold.

A test never talks to the server; it says what to do here, and looks at buffers, screens and files. What an editor has no way
to do stands in its `without`, with the reason.
"""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from soultest.daemon import until
from soultest.screen import PATIENCE, Screen


class Editor(ABC):
    """One editor with one file before it."""

    without: ClassVar[Mapping[str, str]] = {}
    """What it cannot do, and why."""

    @abstractmethod
    def ready(self) -> None:
        """Wait until the editor has opened its file and its language server has answered."""

    @abstractmethod
    def buffer(self) -> str:
        """The text before the user now."""

    @abstractmethod
    def unsaved(self) -> bool:
        """Whether the editor holds the text for unsaved."""

    @abstractmethod
    def go(self, line: int) -> None:
        """Put the cursor on a line, counted from 1."""

    @abstractmethod
    def append(self, text: str) -> None:
        """Type at the end of the cursor's line."""

    @abstractmethod
    def undo(self) -> None:
        """Undo once, as its users do."""

    @abstractmethod
    def save(self) -> None:
        """Save the file, as its users do."""

    @abstractmethod
    def act(self, title: str) -> None:
        """Choose the action at the cursor whose title begins so, from the editor's own menu. Its effect comes later."""

    @abstractmethod
    def choose(self, title: str) -> None:
        """Answer the question that is asked now."""

    @abstractmethod
    def offered(self) -> list[str]:
        """The titles of the actions at the cursor, from the editor's own menu, which is closed again."""

    @abstractmethod
    def kill(self) -> None:
        """End the editor with SIGKILL."""

    def lenses(self) -> list[str]:
        """The titles of the code lenses before the user."""
        return []

    def renew(self) -> None:  # noqa: B027 -- most look by themselves
        """What its users do to see what else has written the file, where the editor does not look by itself."""

    def shows(self, text: str) -> None:
        """Wait until the buffer is that text."""
        _settles(self.buffer, text)

    def holds(self, path: Path, text: str) -> None:
        """Wait until a file on disk is that text."""
        _settles(lambda: _text(path), text)


class TerminalEditor(Editor):
    """One at a terminal of its own."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen


def connected(path: Path) -> socket.socket:
    """A connection to where an editor listens, once it does."""

    def attempt() -> socket.socket | None:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        try:
            made.connect(str(path))
        except OSError:
            made.close()
            return None
        return made

    return until(attempt, PATIENCE, f"a listener at {path}")


def _text(path: Path) -> str:
    """Empty while an editor replaces the file."""
    with suppress(FileNotFoundError):
        return path.read_text()
    return ""


def _settles(read: Callable[[], str], wanted: str) -> None:
    with suppress(AssertionError):
        until(lambda: read() == wanted, PATIENCE)
    now = read()
    assert now == wanted, f"{now!r} is not {wanted!r}"
