"""Whose a change on disk is that was made while a command of an agent ran: decided from evidence alone. Pure.

A command is whatever an agent runs that can write: of the shell, of an MCP server, a hook. What file tools wrote is known without it.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.reviewing.buffers import Said
from sould.agents.permissions.visible import visible

LONGEST_TITLE: Final = 60
"""Characters of a command line that are shown."""

Whose: TypeAlias = Literal["agent", "user", "unsure"]


CertainWithin: TypeAlias = Callable[[], float]
"""`review.certain_within` as configured now, in seconds."""


class Evidence(Struct, frozen=True):
    """Of one change. `seconds`: how long the command ran, None while it goes on; `guessed`: what the file held before is not known."""

    seconds: float | None
    said: Said = "nothing"
    guessed: bool = False


def whose(evidence: Evidence, certain_within: float) -> Whose:
    """The user's where a client said so; the agent's where the command was too short for the user to do much; else nobody can tell."""
    if evidence.said == "this":
        return "user"
    is_short = evidence.seconds is not None and evidence.seconds < certain_within
    return "agent" if is_short and evidence.said == "nothing" and not evidence.guessed else "unsure"


def meanwhile(title: str, seconds: float | None) -> str:
    """What ran then, in words that follow "while": "`make test` ran for 5 s". `title`: the command line, which a model wrote."""
    line = visible(" ".join(title.split())).replace("`", "'")
    shown = line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"
    name = f"`{shown}`" if shown else "a program of the agent"
    if seconds is None:
        return f"{name} was running"
    return f"{name} ran for {seconds:.1f} s" if seconds < 10 else f"{name} ran for {seconds:.0f} s"
