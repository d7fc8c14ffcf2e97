"""Lines that a person types at a terminal, while everything else goes on."""

import asyncio
import os

import click


async def read_line(prompt: str = "") -> str:
    """A line of the terminal with its end, "" at the end of input. The terminal gives whole lines."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(0)
        if not ready.done():
            ready.set_result(os.read(0, 4096).decode("utf-8", "replace"))

    if prompt:
        click.echo(prompt, nl=False, err=True)
    loop.add_reader(0, read)
    try:
        return await ready
    finally:
        loop.remove_reader(0)
