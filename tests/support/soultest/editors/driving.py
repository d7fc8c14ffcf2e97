"""What every editor of these tests can be told to do and asked, as its user does: keys, its own menus, what its buffers hold.

A test never talks to the server; it says what to do here, and looks at buffers, screens and files. What an editor has no way
to do stands in its `without`, with the reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from soultest.daemon import until
from soultest.screen import PATIENCE, Screen


class Editor(ABC):
    """One editor at a terminal, with one file before it."""

    without: ClassVar[Mapping[str, str]] = {}
    """What it cannot do, and why."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

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
    def kill(self) -> None:
        """End the editor with SIGKILL."""

    def lenses(self) -> list[str]:
        """The titles of the code lenses before the user."""
        return []

    def shows(self, text: str) -> None:
        """Wait until the buffer is that text."""
        until(lambda: self.buffer() == text, PATIENCE, f"the buffer {text!r}; it is {self.buffer()!r}")

    def holds(self, path: Path, text: str) -> None:
        """Wait until a file on disk is that text."""
        until(lambda: path.read_text() == text, PATIENCE, f"the file {text!r}; it is {path.read_text()!r}")
