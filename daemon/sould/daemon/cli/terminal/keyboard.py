"""Lines that a person types at a terminal, while everything else goes on.

What was typed before a question was shown is no answer to it, and what is pasted is one answer, however many lines.
"""

import asyncio
import os
import select
import termios

import click

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
