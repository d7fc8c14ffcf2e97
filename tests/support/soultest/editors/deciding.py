"""Clients with a review of ours as somebody uses them to decide: Neovim, Emacs, VS Code, and the dialogue at a terminal.

The file before them is `area.py` of `soultest.editors.plugin`, as an agent has changed it. What a client has no way to do like the
others is done here in its own way, so that a test says only what somebody wants and sees.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeVar

from playwright.sync_api import expect

from soultest.daemon import until
from soultest.editors import plugin
from soultest.editors.emacs import Emacs, emacs
from soultest.editors.neovim import Neovim
from soultest.screen import PATIENCE, Screen, screen
from soultest.souldemacs import connected, settings, wait_hunks
from soultest.workbench import Workbench
from soultest.world import World

LINES = {1: 1, 2: 5, 3: 7}
"""Where each hunk is."""


CHOICES = {"mine": "Leave the lines as I changed them", "drop": "Take the lines away, my words too"}
"""As Neovim words them."""

PICKS = {"mine": "Keep My Words", "drop": "Drop My Words, Too"}
"""As VS Code words them."""


Edited = TypeVar("Edited", Neovim, Emacs)


class Deciding(ABC):
    """One client, ready, with three hunks in its file."""

    @abstractmethod
    def look(self, number: int) -> None:
        """Go to a hunk."""

    @abstractmethod
    def types(self, line: int, words: str) -> None:
        """Its user types at the end of a line, here or, where nothing can be typed, in another program."""

    @abstractmethod
    def takes_typed_back(self, words: str) -> None:
        """Its user undoes what they typed."""

    @abstractmethod
    def keep(self, number: int) -> None:
        """Keep a hunk."""

    @abstractmethod
    def reject(self, number: int) -> None:
        """Reject a hunk."""

    @abstractmethod
    def keep_file(self) -> None:
        """Keep all of the file with one command."""

    @abstractmethod
    def reject_file(self) -> None:
        """Reject all of the file with one command."""

    @abstractmethod
    def undo(self) -> None:
        """Take the last decision back."""

    @abstractmethod
    def choose(self, choice: str) -> None:
        """Say what becomes of words of one's own, once that is asked."""

    @abstractmethod
    def says(self, words: str) -> None:
        """Wait until the client has said so."""

    @abstractmethod
    def shows(self, text: str) -> None:
        """Wait until this is the file's text."""


class InABuffer(Deciding, Generic[Edited]):
    """An editor that can be asked for its text."""

    def __init__(self, editor: Edited) -> None:
        self._editor = editor

    def look(self, number: int) -> None:
        self._editor.go(LINES[number])

    def types(self, line: int, words: str) -> None:
        self._editor.go(line)
        self._editor.append(words)
        until(lambda: words in self._editor.buffer(), PATIENCE, "what is typed")

    def takes_typed_back(self, words: str) -> None:
        self._editor.undo()
        until(lambda: words not in self._editor.buffer(), PATIENCE, "the text of before")

    def shows(self, text: str) -> None:
        self._editor.shows(text)


class InNeovim(InABuffer[Neovim]):
    """The plugin's commands."""

    def __init__(self, editor: Neovim) -> None:
        super().__init__(editor)
        plugin.wait_pending(editor, plugin.ONE, plugin.TWO, plugin.THREE)

    def keep(self, number: int) -> None:
        self._editor.keys(f":Sould keep {number}<CR>")

    def reject(self, number: int) -> None:
        self._editor.keys(f":Sould reject {number}<CR>")

    def keep_file(self) -> None:
        self._editor.keys(":Sould keep file<CR>")

    def reject_file(self) -> None:
        self._editor.keys(":Sould reject file<CR>")

    def undo(self) -> None:
        self._editor.keys(":Sould undo<CR>")

    def choose(self, choice: str) -> None:
        self._editor.choose(CHOICES[choice])

    def says(self, words: str) -> None:
        plugin.wait_told(self._editor, words)


class InEmacs(InABuffer[Emacs]):
    """The package's commands, by their names."""

    def __init__(self, editor: Emacs) -> None:
        super().__init__(editor)
        wait_hunks(editor, len(LINES))

    def keep(self, number: int) -> None:
        self.look(number)
        self._editor.command("sould-keep")

    def reject(self, number: int) -> None:
        self.look(number)
        self._editor.command("sould-reject")

    def keep_file(self) -> None:
        self._editor.command("sould-keep-file")

    def reject_file(self) -> None:
        self._editor.command("sould-reject-file")
        self._editor.screen.wait("Reject 3 hunks in area.py?")
        self._editor.screen.press("y")

    def undo(self) -> None:
        self._editor.command("sould-undo")

    def choose(self, choice: str) -> None:
        self._editor.screen.wait("mine", "drop")
        self._editor.screen.press(choice[0])

    def says(self, words: str) -> None:
        until(lambda: words in self._editor.buffer_named("*Messages*"), PATIENCE, f"the message {words!r}")


class InVSCode(Deciding):
    """The extension's commands, by their titles."""

    def __init__(self, window: Workbench) -> None:
        self._window = window
        window.open("area.py")
        expect(window.lenses("Keep")).to_have_count(len(LINES))
        # Before a command's first run VS Code asks its extensions who knows it: where the cursor moves meanwhile, another change is meant.
        self.reject(1)
        expect(window.lenses("Keep")).to_have_count(len(LINES) - 1)
        self.undo()
        expect(window.lenses("Keep")).to_have_count(len(LINES))
        self.shows(plugin.NEW)

    def look(self, number: int) -> None:
        self._window.go(LINES[number])

    def types(self, line: int, words: str) -> None:
        self._window.go(line)
        self._window.type(words)
        self._window.shows(words)

    def takes_typed_back(self, words: str) -> None:
        """By as many Backspaces: what one undo takes depends on how fast it was typed."""
        for _ in words:
            self._window.key("Backspace")
        expect(self._window.line(words)).to_have_count(0)

    def keep(self, number: int) -> None:
        self.look(number)
        self._window.palette("sould: Keep Change")

    def reject(self, number: int) -> None:
        self.look(number)
        self._window.palette("sould: Reject Change")

    def keep_file(self) -> None:
        self._window.palette("sould: Keep All Changes of File")

    def reject_file(self) -> None:
        self._window.palette("sould: Reject All Changes of File")

    def undo(self) -> None:
        self._window.palette("sould: Take Back the Last Decision")

    def choose(self, choice: str) -> None:
        self._window.page.locator(".quick-input-list .monaco-list-row", has_text=PICKS[choice]).click()

    def says(self, words: str) -> None:
        expect(self._window.status(words)).to_be_visible()

    def shows(self, text: str) -> None:
        until(lambda: self._window.text() == text, PATIENCE, f"the text {text!r}; it is {self._window.text()!r}")


class AtATerminal(Deciding):
    """The keys of `sould review`. What its user types in the file, they type in another program."""

    def __init__(self, shown: Screen, world: World) -> None:
        self._screen = shown
        self._file = world.project / "area.py"
        self._shown()

    def _shown(self) -> int:
        """The hunk that is asked about now."""
        until(lambda: self._screen.text.rstrip().endswith("]?"), PATIENCE, "a question")
        return int(re.findall(r"\(\d+/\d+\) hunk (\d+)", self._screen.text)[-1])

    def _answer(self, keys: str) -> None:
        self._screen.type(keys)
        self._screen.press("Enter")

    def look(self, number: int) -> None:
        while (now := self._shown()) != number:
            self._answer("j")
            until(lambda now=now: self._shown() != now, PATIENCE, "another hunk")

    def types(self, line: int, words: str) -> None:
        lines = self._file.read_text().splitlines()
        lines[line - 1] += words
        self._file.write_text("\n".join([*lines, ""]))

    def takes_typed_back(self, words: str) -> None:
        self._file.write_text(self._file.read_text().replace(words, ""))

    def keep(self, number: int) -> None:
        self.look(number)
        self._answer("y")

    def reject(self, number: int) -> None:
        self.look(number)
        self._answer("n")

    def keep_file(self) -> None:
        self._answer("a")

    def reject_file(self) -> None:
        self._answer("d")

    def undo(self) -> None:
        self._shown()
        self._answer("u")

    def choose(self, choice: str) -> None:
        """A hunk that is another by now is shown anew before anything is asked."""
        until(lambda: "leave]?" in self._screen.text or "changed since" in self._screen.text, PATIENCE, "an answer")
        if "leave]?" not in self._screen.text:
            self._shown()
            self._answer("n")
        self._screen.wait("leave]?")
        self._answer(choice)

    def says(self, words: str) -> None:
        self._screen.wait(words)

    def shows(self, text: str) -> None:
        until(lambda: self._file.read_text() == text, PATIENCE, "the file's text")


@contextmanager
def deciding(world: World, name: str) -> Generator[Deciding]:
    """A client of this name, with what an agent did before it."""
    plugin.change(world)
    if name == "terminal":
        with screen(world, "sould review", world.project, name) as shown:
            yield AtATerminal(shown, world)
    elif name.startswith("emacs"):
        with emacs(world, plugin.installed(name), settings(), world.project / "area.py") as editor:
            connected(editor)
            yield InEmacs(editor)
    else:
        with plugin.opened(world, plugin.installed(name)) as editor:
            yield InNeovim(editor)


def in_vscode(world: World, open_window: Callable[[], Workbench]) -> Deciding:
    """A window of VS Code, with what an agent did before it."""
    plugin.change(world)
    return InVSCode(open_window())
