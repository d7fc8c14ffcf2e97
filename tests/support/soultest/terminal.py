"""A command at a terminal: what a person sees and types there."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from soultest.cliuser import User
from soultest.world import SOULD, World

HEARS_CTRL_C = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Runs a program that is told of SIGINT, also where the tests are not: started in the background, they ignore it."""


@contextmanager
def terminal(
    user: User | World, *arguments: str, env: Mapping[str, str] | None = None, size: tuple[int, int] = (0, 0)
) -> Generator["Terminal"]:
    """A command at a terminal; `env` is added to what the user has. `size`: its rows and columns, 0 where it does not say."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, size)
    environment = user.environment | dict(env or {})
    command = [*HEARS_CTRL_C, str(SOULD), *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=user.project)
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Terminal:
    """What a person sees and types."""

    def __init__(self, descriptor: int, process: "subprocess.Popen[bytes]") -> None:
        self._descriptor = descriptor
        self._process = process
        self.seen = ""
        self._expected = 0

    def read_until(self, text: str) -> None:
        self._read_until(text, 0)

    def expect(self, text: str) -> None:
        """Read until `text` comes behind what was expected before."""
        self._expected = self._read_until(text, self._expected)

    def _read_until(self, text: str, start: int) -> int:
        while (found := self.seen.find(text, start)) < 0:
            ready, _, _ = select.select([self._descriptor], [], [], 20)
            assert ready, f"no {text!r} in {self.seen[start:]!r}"
            try:
                self.seen += os.read(self._descriptor, 4096).decode()
            except OSError:  # EIO: nobody holds the other side any more
                raise AssertionError(f"it ended without {text!r}: {self.seen[start:]!r}") from None
        return found + len(text)

    def read_to_end(self, answer: str = "") -> None:
        """Read until the command has ended; a yes-or-no question on the way gets `answer`."""
        asked = 0
        while True:
            ready, _, _ = select.select([self._descriptor], [], [], 20)
            assert ready, f"no end after {self.seen!r}"
            try:
                data = os.read(self._descriptor, 4096)
            except OSError:  # EIO: nobody holds the other side any more
                return
            self.seen += data.decode()
            if answer and len(re.findall(r"\[[yY]/[nN]\]", self.seen)) > asked:
                asked += 1
                self.type(answer)

    def rows_since(self, text: str) -> int:
        """How many lines were seen from the last one with `text` on."""
        return self.seen[self.seen.rindex(text) :].count("\n") + 1

    def resize(self, rows: int, columns: int) -> None:
        """The window has another size."""
        termios.tcsetwinsize(self._descriptor, (rows, columns))

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode() + b"\n")

    def wait(self) -> int:
        return self._process.wait(20)
