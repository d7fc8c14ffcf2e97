"""Helix at a terminal. It has no way in but keys, and no way out but its screen and its files."""

import os
import re
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from soultest.daemon import until
from soultest.editors.driving import TerminalEditor
from soultest.screen import PATIENCE, screen
from soultest.world import World

BARE = """\
theme = "rig"
[editor]
gutters = []
auto-completion = false
end-of-line-diagnostics = "error"
[editor.inline-diagnostics]
cursor-line = "error"
"""
"""Nothing beside the lines of a file, so that the screen is the buffer."""
THEME = """\
inherits = "default"
"ui.menu" = { bg = "#010203" }
"ui.menu.selected" = { bg = "#030201" }
"""
"""Menus, and what is chosen in them, can be told by their colours."""


class Helix(TerminalEditor):
    """What is read off the screen lacks spaces at the end of lines."""

    without: ClassVar[Mapping[str, str]] = {"lenses": "Helix draws no code lenses"}

    def _parts(self) -> tuple[list[str], str]:
        """The lines of the file, and the status line below them; empty while there is none."""
        lines = self.screen.lines
        places = [place for place, line in enumerate(lines) if re.match(r" (NOR|INS|SEL)  ", line)]
        return (lines[: places[-1]], lines[places[-1]]) if places else ([], "")

    def _status(self) -> str:
        return self._parts()[1]

    def _normal(self) -> bool:
        return " NOR " in self._status() and not self._menu()

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, in normal mode. An Escape that does nothing would be taken for Alt with the next key."""
        if not self._normal():
            self.screen.press("Escape")
            until(self._normal, PATIENCE, "normal mode")
        for key in keys:
            self.screen.type(key)

    def command(self, line: str) -> None:
        """Run one of its commands."""
        self.keys(":")
        self.screen.type(line)
        self.screen.press("Enter")

    def ready(self) -> None:
        until(self._status, PATIENCE, "Helix")

    def buffer(self) -> str:
        return "\n".join(self._parts()[0]).rstrip("\n") + "\n"

    def unsaved(self) -> bool:
        return "[+]" in self._status()

    def go(self, line: int) -> None:
        self.keys(f"{line}G")
        until(lambda: re.search(rf" {line}:\d+\s*$", self._status()), PATIENCE, f"line {line}")

    def append(self, text: str) -> None:
        self.keys("A")
        until(lambda: " INS " in self._status(), PATIENCE, "insert mode")
        self.screen.type(text)
        self.keys()

    def undo(self) -> None:
        self.keys("u")

    def save(self) -> None:
        self.command("w")

    def act(self, title: str) -> None:
        until(lambda: self._offered(title), PATIENCE, f"the action {title}")
        self.choose(title)

    def _offered(self, title: str) -> bool:
        """Open the menu, which is refused with a sentence while the server starts, or has nothing here yet."""
        self.keys(" ", "a")
        refused = "No configured language server", "No code actions available"
        until(
            lambda: self._menu() or any(words in self.screen.text for words in refused), PATIENCE, "a menu or a reason"
        )
        return any(each.startswith(title) for each in self._menu())

    def offered(self) -> list[str]:
        until(lambda: self._offered(""), PATIENCE, "a menu of actions")
        titles = self._menu()
        self.keys()
        return titles

    def renew(self) -> None:
        self.command("reload")

    def choose(self, title: str) -> None:
        until(lambda: any(each.startswith(title) for each in self._menu()), PATIENCE, f"{title} in a menu")
        for _ in self._menu():
            before = self._chosen()
            if any(each.startswith(title) for each in before):
                self.screen.press("Enter")
                return
            self.screen.press("Down")
            until(lambda before=before: self._chosen() != before, PATIENCE, "the next of the menu")
        raise AssertionError(f"{title} cannot be chosen:\n" + "\n".join(self.screen.lines))

    def _menu(self) -> list[str]:
        return self._coloured("1;2;3", "3;2;1")

    def _chosen(self) -> list[str]:
        return self._coloured("3;2;1")

    def _coloured(self, *backgrounds: str) -> list[str]:
        """What stands on these colours, line by line: menus have colours of their own here (`THEME`)."""
        background, texts = "", list[str]()
        for line in self.screen.tmux("capture-pane", "-p", "-e").splitlines():
            text = ""
            for part in re.split(r"(\x1b\[[\d;:]*m)", line):
                if not part.startswith("\x1b"):
                    text += part if background in backgrounds else ""
                elif found := re.search(r"48;2;([\d;]+)m|\[(?:0|49)(?:;|m)", part):
                    background = found[1] or ""
            if text.strip():
                texts.append(text.strip())
        return texts

    def kill(self) -> None:
        os.kill(self.screen.pid, signal.SIGKILL)


@contextmanager
def helix(world: World, program: Path, languages: str, file: Path, name: str = "helix") -> Generator[Helix]:
    """Helix with this languages.toml and that file, until the block is left. Two in one world have different names."""
    folder = world.root / f"{name}-config"
    (folder / "helix").mkdir(parents=True, exist_ok=True)
    (folder / "helix" / "languages.toml").write_text(languages)
    (folder / "helix" / "config.toml").write_text(BARE)
    (folder / "helix" / "themes").mkdir(exist_ok=True)
    (folder / "helix" / "themes" / "rig.toml").write_text(THEME)
    command = f"XDG_CONFIG_HOME='{folder}' exec '{program}' '{file}'"
    with screen(world, command, world.project, name) as shown:
        yield Helix(shown)
