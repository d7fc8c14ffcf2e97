"""Helix at a terminal. It has no way in but keys, and no way out but its screen and its files."""

import os
import re
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from soultest.daemon import until
from soultest.editors.driving import Editor
from soultest.screen import PATIENCE, screen
from soultest.world import World

BARE = """\
[editor]
gutters = []
auto-completion = false
"""
"""Nothing beside the lines of a file, so that the screen is the buffer."""


class Helix(Editor):
    """What is read off the screen lacks spaces at the end of lines."""

    without: ClassVar[Mapping[str, str]] = {"lenses": "Helix draws no code lenses"}

    def _status(self) -> str:
        return next((line for line in reversed(self.screen.lines) if re.match(r" (NOR|INS|SEL)  ", line)), "")

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, in normal mode."""
        self.screen.press("Escape")
        until(lambda: " NOR " in self._status(), PATIENCE, "normal mode")
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
        lines = self.screen.lines
        shown = lines[: lines.index(self._status())]
        return "\n".join(shown).rstrip("\n") + "\n"

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
        until(lambda: any(words in self.screen.text for words in (title, *refused)), PATIENCE, "an answer to Space a")
        return title in self.screen.text

    def choose(self, title: str) -> None:
        self.screen.wait(title)
        offered = sum(bool(line.strip()) for line in self.screen.lines)
        for _ in range(offered):
            before = self._chosen()
            if title in before:
                self.screen.press("Enter")
                return
            self.screen.press("Down")
            until(lambda before=before: self._chosen() != before, PATIENCE, "the next of the menu")
        raise AssertionError(f"{title} cannot be chosen:\n" + "\n".join(self.screen.lines))

    def _chosen(self) -> str:
        """What stands on the default theme's colour for the line of a menu that is chosen."""
        background, chosen = "", ""
        for text in re.split(r"(\x1b\[[\d;:]*m)", self.screen.tmux("capture-pane", "-p", "-e")):
            if not text.startswith("\x1b"):
                chosen += text if background.endswith("48;2;255;255;255m") else ""
            elif "48;2;" in text or text in ("\x1b[49m", "\x1b[0m"):
                background = text
        return chosen

    def kill(self) -> None:
        os.kill(self.screen.pid, signal.SIGKILL)


@contextmanager
def helix(world: World, program: Path, languages: str, file: Path, name: str = "helix") -> Generator[Helix]:
    """Helix with this languages.toml and that file, until the block is left. Two in one world have different names."""
    folder = world.root / f"{name}-config"
    (folder / "helix").mkdir(parents=True, exist_ok=True)
    (folder / "helix" / "languages.toml").write_text(languages)
    (folder / "helix" / "config.toml").write_text(BARE)
    command = f"XDG_CONFIG_HOME='{folder}' exec '{program}' '{file}'"
    with screen(world, command, world.project, name) as shown:
        yield Helix(shown)
