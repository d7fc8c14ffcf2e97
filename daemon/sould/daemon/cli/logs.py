"""`sould logs`: the daemon's log, its end or as it grows. Reads the files; the daemon need not run."""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import click

from sould.daemon.cli.output import Command, CommandError, visible
from sould.daemon.paths import Paths

POLL_S = 0.25


@click.command(cls=Command)
@click.option(
    "--lines",
    "-n",
    default=50,
    show_default=True,
    type=click.IntRange(0),
    help="How many lines to print, from the end.",
)
@click.option("--follow", "-f", is_flag=True, help="Keep printing as the log grows, until Ctrl-C.")
@click.option("--grep", default="", metavar="TEXT", help="Only lines with this text, such as a session's id.")
@click.option("--path", "only_path", is_flag=True, help="Print only the path of the log.")
def logs(lines: int, follow: bool, grep: str, only_path: bool) -> None:
    """Show the daemon's log. It never holds keys or what you and the model said.

    A line names the session or the connection it is about. SOULD_LOG=debug in a client's environment has more said of its
    sessions, in the daemon's of all.

    Examples:
      sould logs
      sould logs -n 500 --grep WARNING
      sould logs -f --grep 01JD
    """
    path = Path(Paths(os.environ).log)
    if only_path:
        click.echo(path)
        return
    if not path.exists() and not follow:
        raise CommandError(f"There is no log yet at {path}: the daemon has not run here. Start it with: sould restart")
    tail = _Tail(path)
    for line in deque((line for line in (*_rotated(path), *tail.read()) if grep in line), maxlen=lines):
        click.echo(visible(line))
    while follow:
        time.sleep(POLL_S)
        for line in tail.read():
            if grep in line:
                click.echo(visible(line))


def _rotated(path: Path) -> Iterator[str]:
    """The lines of the file before this one."""
    with suppress(FileNotFoundError), path.with_name(path.name + ".1").open(encoding="utf-8", errors="replace") as file:
        yield from (line.rstrip("\n") for line in file)


class _Tail:
    """Reads a file from its beginning, goes on where it stopped, and follows when another file takes its name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> Iterator[str]:
        """The whole lines that were not given yet."""
        yield from self._lines()
        if self._is_other():
            yield from self._lines()  # what was written just before the file was moved away
            if self._file is not None:
                self._file.close()
            self._file, self._rest = self._path.open("rb"), b""
            yield from self._lines()

    def _lines(self) -> Iterator[str]:
        if self._file is not None:
            whole, newline, self._rest = (self._rest + self._file.read()).rpartition(b"\n")
            if newline:
                yield from whole.decode("utf-8", "replace").split("\n")

    def _is_other(self) -> bool:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        if self._file is None:
            return True
        ours = os.fstat(self._file.fileno())
        return (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino)
