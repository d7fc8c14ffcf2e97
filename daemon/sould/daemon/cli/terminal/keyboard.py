"""What a person writes at a terminal: lines, while everything else goes on, or a text in their editor.

What was typed before a question was shown is no answer to it, and what is pasted is one answer, however many lines.
"""

import asyncio
import os
import select
import shlex
import shutil
import sys
import tempfile
import termios
from pathlib import Path

import click

from sould.agents.base.errors import ConfigError
from sould.daemon.cli.output import CommandError
from sould.daemon.paths import Paths

EDITORS = ("sensible-editor", "nano", "vim", "vi")
PASTED_S = 0.02
"""How soon the lines of one paste follow each other."""


def forget_typed() -> None:
    """Forget what was typed and not read yet."""
    termios.tcflush(0, termios.TCIFLUSH)


async def read_line(prompt: str = "") -> str:
    """A line of the terminal with its end, or all that were pasted; "" at the end of input."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(0)
        if not ready.done():
            ready.set_result(_lines())

    if prompt:
        click.echo(prompt, nl=False, err=True)
    loop.add_reader(0, read)
    try:
        return await ready
    finally:
        loop.remove_reader(0)


def _lines() -> str:
    """What there is to read; the terminal gives whole lines, one at a time."""
    pieces = [os.read(0, 4096)]
    while pieces[-1] and select.select([0], [], [], PASTED_S)[0]:
        pieces.append(os.read(0, 4096))
    return b"".join(pieces).decode("utf-8", "replace")


def editor() -> list[str]:
    """The command of the user's editor: `default_editor`, $VISUAL, $EDITOR, else one that is usual.

    Raises:
        CommandError: there is none.
    """
    from sould.daemon.configuration.configuration import load  # noqa: PLC0415 -- half of the start of `sould run`, which rarely asks

    try:
        configured = load(Paths(os.environ), os.environ).config.default_editor
    except ConfigError:  # that is what the editor is for
        configured = ""
    places = {"default_editor": configured} | {f"${name}": os.environ.get(name, "") for name in ("VISUAL", "EDITOR")}
    for name, value in places.items():
        wanted = shlex.split(value)
        if wanted and shutil.which(wanted[0]) is None:
            raise CommandError(f"{name} names {wanted[0]!r}, which was not found; set it to your editor.")
        if wanted:
            return wanted
    found = next((name for name in EDITORS if shutil.which(name)), None)
    if found is None:
        raise CommandError("No editor was found: set EDITOR to yours.")
    return [found]


async def edited(text: str) -> str:
    """`text` as the user's editor leaves it. Cancelling the wait ends the editor.

    Raises:
        CommandError: there is no editor, or it failed.
    """
    command = editor()
    with tempfile.TemporaryDirectory(prefix="sould-") as directory:
        file = Path(directory, "text.md")
        file.write_text(text, "utf-8")
        process = await asyncio.create_subprocess_exec(*command, str(file), stdout=sys.stderr)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if code != 0:
            raise CommandError(f"The editor {command[0]} ended with {code}, so the text is unchanged.")
        return file.read_text("utf-8", "replace")
