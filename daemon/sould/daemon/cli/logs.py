"""`sould logs`: the daemon's log, its end or as it grows. Reads the files; the daemon need not run."""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import click

from sould.daemon.cli.helptext import Command
from sould.daemon.cli.output import CommandError, visible
from sould.daemon.paths import Paths

POLL_S = 0.25


@click.command(cls=Command)
@click.option(
    "--lines", "-n", default=50, show_default=True, type=click.IntRange(0), help="How many lines, from the end."
)
@click.option("--follow", "-f", is_flag=True, help="Go on printing as the log grows, until Ctrl-C.")
@click.option("--grep", default="", metavar="TEXT", help="Only lines with this text, such as a session's id.")
@click.option("--path", "only_path", is_flag=True, help="Print where the log is, and nothing else.")
def logs(lines: int, follow: bool, grep: str, only_path: bool) -> None:
    """Show the daemon's log. It never holds keys or what you and the model said.

    Examples:
      sould logs
      sould logs -n 500 --grep WARNING
      sould logs -f
    """
    path = Path(Paths(os.environ).log)
    if only_path:
        click.echo(path)
        return
    if not path.exists() and not follow:
        raise CommandError(f"There is no log yet at {path}: the daemon has not run here. Start it with: sould restart")
    for line in deque((line for line in _read(path) if grep in line), maxlen=lines):
        click.echo(visible(line))
    if follow:
        for line in _grow(path):
            if grep in line:
                click.echo(visible(line))
                sys.stdout.flush()


def _read(path: Path) -> Iterator[str]:
    """The lines of the last rotated file and the current one."""
    for part in (path.with_name(path.name + ".1"), path):
        try:
            with part.open(encoding="utf-8", errors="replace") as file:
                yield from (line.rstrip("\n") for line in file)
        except FileNotFoundError:
            continue


def _grow(path: Path) -> Iterator[str]:
    """Lines added from now on, also after the file was rotated away."""
    position = path.stat().st_size if path.exists() else 0
    inode = path.stat().st_ino if path.exists() else 0
    while True:
        try:
            found = path.stat()
        except FileNotFoundError:
            found = None
        if found is not None and (found.st_ino != inode or found.st_size < position):
            position, inode = 0, found.st_ino
        if found is not None and found.st_size > position:
            with path.open("rb") as file:
                file.seek(position)
                whole, newline, _ = file.read().rpartition(b"\n")
            position += len(whole) + len(newline)
            yield from whole.decode("utf-8", "replace").split("\n") if newline else ()
        time.sleep(POLL_S)
