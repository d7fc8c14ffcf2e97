"""From spawning the agent's command to its answers: `initialize`, a first session, a first token."""

import subprocess
import time
from collections.abc import Generator
from functools import partial

from agents import Agent
from row import RAW, AtMost, Figures, OfFloor, Row, Sides, measures
from world import World

INTERPRETER = "python3 -c pass"
FIRST_BYTE = "import os; os.write(1, b'x')"
"""What an interpreter does to be timed to its first output, as the agents are; `os` is loaded before this runs."""


def rows(prefix: str, when: str, means: str, budgets: tuple[OfFloor | AtMost, ...], floor: str) -> tuple[Row, ...]:
    """The three rows of a start. Budgets are missing from the end."""
    until = ("initialize", "session", "token")
    said = ("`initialize` answered", "first `session/new` answered", "first token")
    return tuple(
        Row(
            f"{prefix}-{name}",
            f"spawn -> {words}, {when}",
            means,
            budget=budgets[number] if number < len(budgets) else None,
            floor=floor if number == 0 else RAW,
        )
        for number, (name, words) in enumerate(zip(until, said, strict=True))
    )


WARM = rows(
    "warm", "daemon running", "opening one more editor, or a new panel", (OfFloor(1.25),), INTERPRETER
)  # fmt: skip
COLD = rows("cold", "nothing running", "the first editor after a login", (AtMost(250), AtMost(700)), RAW)


@measures(*WARM, rounds=15, quick=10, peers=True)
def warm(world: World) -> Generator[Sides]:
    """With whatever stays running when an editor goes."""
    for agent in world.agents.values():
        started(agent, "warm")
    yield {INTERPRETER: partial(interpreter, world)} | {
        name: partial(started, agent, "warm") for name, agent in world.agents.items()
    }


@measures(*COLD, rounds=7, quick=5, peers=True)
def cold(world: World) -> Generator[Sides]:
    """With nothing running."""
    yield {name: partial(started_cold, agent) for name, agent in world.agents.items()}


def interpreter(world: World) -> Figures:
    """A bare interpreter to its first output."""
    return {"warm-initialize": interpreter_ms(world, FIRST_BYTE)}


def interpreter_ms(world: World, code: str) -> float:
    """From spawning a bare interpreter to the first byte that this code writes."""
    begin = time.monotonic_ns()
    with subprocess.Popen([str(world.python), "-c", code], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout
        process.stdout.read(1)
        return (time.monotonic_ns() - begin) / 1e6


def started_cold(agent: Agent) -> Figures:
    """From nothing."""
    agent.rest()
    return started(agent, "cold")


def started(agent: Agent, prefix: str) -> Figures:
    """One editor's start."""
    with agent.spawned() as client:
        client.initialize()
        initialized = time.monotonic_ns()
        session = client.new()
        opened = time.monotonic_ns()
        first = client.chunks(session, 1).first
    moments = {"initialize": initialized, "session": opened, "token": first}
    return {f"{prefix}-{name}": (moment - client.begun) / 1e6 for name, moment in moments.items()}
