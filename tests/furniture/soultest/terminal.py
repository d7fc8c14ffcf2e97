"""A command at a terminal: what a person sees and types there."""

import os
import pty
import select
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from soultest.cliuser import User
from soultest.world import SOULD


@contextmanager
def terminal(user: User, *arguments: str) -> Generator["Terminal"]:
    """A command at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(SOULD), *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=user.environment, cwd=user.project
    )
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

    def read_until(self, text: str) -> None:
        while text not in self.seen:
            ready, _, _ = select.select([self._descriptor], [], [], 20)
            assert ready, f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self._descriptor, 4096).decode()

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode() + b"\n")

    def wait(self) -> int:
        return self._process.wait(20)
