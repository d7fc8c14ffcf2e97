"""What all commands print with: exit codes, failures, tables, text of others made safe for a terminal, and help."""

import inspect
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import click

from sould.agents.base.text import plural as plural

UNWRAPPED = re.compile(r"\n\n(?=[^\n]+:\n)")
"""The gap before such a paragraph; click's mark for "do not wrap" is a backspace on a line of its own."""
OK = 0
FAILED = 1
USAGE = 2
APPROVAL = 3
NO_MODEL = 4
TEMPORARY = 75
CANCELLED = 130
BROKEN_PIPE = 141
"""Whoever read our output left: what a shell says of a program that SIGPIPE ended."""


class CommandError(Exception):
    """Ends the command: one sentence on standard error and an exit code. Never with a secret in it."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def complain(sentence: str) -> None:
    """Say on standard error what went wrong."""
    click.echo(click.style("sould: ", fg="red", bold=True) + visible(sentence), err=True)


def visible(text: str) -> str:
    """`text` with control and direction-changing characters shown as escapes; newlines and tabs stay.

    Titles, file names and tool output come from models and repositories: they may not drive the terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or not _dangerous(c) else f"\\x{ord(c):02x}" for c in text)


def one_line(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters, safe for a terminal."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Columns two spaces apart, the last one ragged."""
    lines = [tuple(row) for row in rows]
    if not lines:
        return ""
    widths = [max(len(row[column]) for row in lines) for column in range(len(lines[0]) - 1)]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in lines)


def echo_rows(text: str) -> None:
    """Print lines of words and tables; on a terminal too narrow for one it goes on in rows of its own, no word in two."""
    from sould.daemon.cli.terminal.screenfuls import parted, screen  # noqa: PLC0415 -- not on the way of `sould run`

    here = screen()
    lines = text.split("\n")
    click.echo("\n".join(row for line in lines for row in parted(line, here.columns)) if here is not None else text)


def span(seconds: float) -> str:
    """A duration as people say it: `5 s`, `12 min`, `3 h`, `4 d`."""
    for limit, unit, name in ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // 86400)} d"


def size(count: int) -> str:
    """A number of bytes as people say it."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def _dangerous(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and character not in "\u200d\ufeff"


class Command(click.Command):
    """A command."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:  # noqa: A002 -- click names it so
        super().__init__(*args, help=_unwrapped(help), **kwargs)


class CommandGroup(click.Group):
    """A group; its commands are `Command`s."""

    command_class = Command

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:  # noqa: A002 -- click names it so
        super().__init__(*args, help=_unwrapped(help), **kwargs)


def _unwrapped(text: str | None) -> str | None:
    return None if text is None else UNWRAPPED.sub("\n\n\b\n", inspect.cleandoc(text))
