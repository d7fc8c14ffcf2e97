"""Asking at the terminal whether a tool call may run."""

import asyncio
import os
from collections.abc import Sequence

import click
from pydantic import BaseModel, Field, JsonValue

from sould.daemon.cli.output import one_line

KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "never"}


class Option(BaseModel):
    """One answer on offer, in ACP's words."""

    option_id: str = Field(alias="optionId")
    name: str = ""
    kind: str = ""


class Permission(BaseModel):
    """The parameters of `session/request_permission` that are used here."""

    tool_call: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="toolCall")
    options: list[Option] = Field(default_factory=list[Option])


async def ask(title: str, options: Sequence[Option]) -> str:
    """The id of the chosen option, "" at the end of input. Cancelling the wait takes the question back."""
    choices = {KEYS.get(option.kind, option.option_id): option for option in options}
    words = "  ".join(f"[{key}] {one_line(option.name, 80)}" for key, option in choices.items())
    click.echo(f"{click.style('?', fg='yellow')} May I? {one_line(title, 200)}\n  {words}", err=True)
    try:
        while line := await _read_line():
            option = choices.get(line.strip().lower())
            if option is not None:
                return option.option_id
            click.echo(f"  Type one of: {', '.join(choices)}", err=True)
    except asyncio.CancelledError:
        click.echo("  (withdrawn)", err=True)
        raise
    return ""


async def _read_line() -> str:
    """A line of the terminal with its end, "" at the end of input. The terminal gives whole lines."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(0)
        if not ready.done():
            ready.set_result(os.read(0, 4096).decode("utf-8", "replace"))

    loop.add_reader(0, read)
    try:
        return await ready
    finally:
        loop.remove_reader(0)
