"""Commands whose help keeps examples as they are written: a paragraph whose first line ends in a colon is not wrapped."""

import inspect
import re
from typing import Any

import click

UNWRAPPED = re.compile(r"\n\n(?=[^\n]+:\n)")
"""The gap before such a paragraph; click's mark for "do not wrap" is a backspace on a line of its own."""


class Command(click.Command):
    """A command."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:  # noqa: A002 -- click names it so
        super().__init__(*args, help=_unwrapped(help), **kwargs)


class Group(click.Group):
    """A group; its commands are `Command`s."""

    command_class = Command

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:  # noqa: A002 -- click names it so
        super().__init__(*args, help=_unwrapped(help), **kwargs)


def _unwrapped(text: str | None) -> str | None:
    return None if text is None else UNWRAPPED.sub("\n\n\b\n", inspect.cleandoc(text))
