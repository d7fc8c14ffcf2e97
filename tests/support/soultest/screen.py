"""A program that fills a terminal, in tmux: what a person sees there, and the keys they press."""

import re
import shlex
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from soultest.daemon import until
from soultest.world import World

PATIENCE = 90.0
"""Seconds; such a program may take long to start on a busy machine."""


class Screen:
    """One window."""

    def __init__(self, world: World, name: str = "tmux") -> None:
        self._socket = str(world.root / name)
        self._environment = world.environment | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}

    def tmux(self, *arguments: str) -> str:
        """What a tmux command prints."""
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True).stdout

    @property
    def lines(self) -> list[str]:
        """The lines of the screen now, as they stand there."""
        return self.tmux("capture-pane", "-p").splitlines()

    @property
    def pid(self) -> int:
        """The process that fills the screen, when its command line is `exec PROGRAM`."""
        return int(self.tmux("list-panes", "-F", "#{pane_pid}"))

    @property
    def text(self) -> str:
        """Everything on the screen now, as one line: where it is broken is not what a test is about."""
        return re.sub(r"\s+", " ", re.sub(r"[^\x20-\x7e\n]", " ", self.tmux("capture-pane", "-p")))

    def wait(self, *words: str) -> str:
        """The screen once it shows all of these."""
        try:
            until(lambda: all(word in self.text for word in words), PATIENCE, f"{words} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows:\n{self.text}") from None
        return self.text

    def type(self, text: str) -> None:
        """Type some text."""
        self.tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        self.tmux("send-keys", *keys)

    def close(self) -> None:
        """End it and what runs in it, if it still does."""
        with suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")


@contextmanager
def screen(
    world: World, command: str, cwd: Path, name: str = "tmux", size: tuple[int, int] = (50, 150)
) -> Generator[Screen]:
    """Run a shell's command line until the block is left. Screens of one world have different names. `size`: rows and columns."""
    shown = Screen(world, name)
    rows, columns = map(str, size)
    run = f"exec {shlex.join(['sh', '-c', command])}"
    shown.tmux("new-session", "-d", "-x", columns, "-y", rows, "-c", str(cwd), run)
    try:
        yield shown
    finally:
        shown.close()
