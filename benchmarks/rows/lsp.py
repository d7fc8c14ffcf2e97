"""Editors that speak LSP: how soon one is served, and shows the hunks of a file; what one more window costs."""

import time
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from typing import cast

from agents import Sould
from processes import pss, settle
from row import OURS, AtMost, Figures, OfFloor, Row, Sides, measures
from rows.memory import MCP, with_mcp
from rows.startup import FIRST_BYTE, INTERPRETER, interpreter_ms
from world import World

HUNKS = 100
APART = 3
"""Lines from one to the next."""
KEYS = 20

WARM = Row(
    "lsp-warm-initialize",
    "spawn -> `initialize` answered over LSP, daemon running",
    "opening a file in one more editor",
    budget=OfFloor(1.5),
    floor=INTERPRETER,
)
SHOWN = Row(
    "lsp-hunks-100",
    f"code lenses and actions of a file with {HUNKS} hunks",
    "how soon hunks are there",
    budget=AtMost(20),
)
TYPED = Row(
    "lsp-keystroke",
    "a key in that file -> its hunks",
    "whether hunks lag behind what you type",
    budget=AtMost(30),
)
WINDOW = Row(
    "lsp-second-window",
    "a second LSP window with a file open",
    "one more window",
    unit="MB PSS",
    budget=AtMost(3),
)
DAEMON = Row(
    "lsp-memory",
    "with a session, an MCP server, itself not counted, and LSP windows",
    "what it costs to use it all",
    unit="MB PSS",
    budget=AtMost(130),
)


@measures(WARM, rounds=15)
def warm(world: World) -> Generator[Sides]:
    """With a daemon that has served an LSP window."""
    agent = ours(world)
    with agent.window() as stays:
        stays.begin(agent.project)
        yield {INTERPRETER: partial(bare, world), OURS: partial(started, agent)}


def bare(world: World) -> Figures:
    """A bare interpreter to its first output."""
    return {WARM.name: interpreter_ms(world, FIRST_BYTE)}


def started(agent: Sould) -> Figures:
    """One window's start."""
    with agent.window() as client:
        client.begin(agent.project)
        return {WARM.name: (time.monotonic_ns() - client.begun) / 1e6}


@measures(SHOWN, TYPED, rounds=5)
def hunks(world: World) -> Generator[Sides]:
    """A file that an agent wrote anew in many places."""
    agent = ours(world)
    path = agent.project / "hunks.txt"
    count = world.scaled(HUNKS, 2)
    lines = [f"line {n}\n" for n in range(count * APART)]
    path.write_text("".join(lines))
    lines[::APART] = [f"agent {n}\n" for n in range(count)]
    with agent.opened() as client:
        client.call(client.new(), "WriteFile", {"path": str(path), "content": "".join(lines)})
    yield {OURS: partial(shown, agent, count)}


def shown(agent: Sould, count: int) -> Figures:
    """Medians of a window's first looks and keys."""
    with agent.window() as client:
        client.begin(agent.project)
        uri = client.open(agent.project / "hunks.txt")
        client.lenses(uri)
        begin = time.monotonic_ns()
        lenses, actions = client.lenses(uri), client.actions(uri, 0)
        looked = time.monotonic_ns() - begin
        assert (lenses, actions > 0) == (3 * count, True)
        typed: list[int] = []
        for key in range(KEYS):
            begin = time.monotonic_ns()
            client.type(uri, key + 2, 1)
            assert client.lenses(uri) == 3 * count
            typed.append(time.monotonic_ns() - begin)
    return {SHOWN.name: looked / 1e6, TYPED.name: sorted(typed)[KEYS // 2] / 1e6}


@measures(WINDOW, DAEMON, rounds=1)
def windows(world: World) -> Generator[Sides]:
    """From a fresh start."""
    yield {OURS: partial(opened, ours(world))}


def opened(agent: Sould) -> Figures:
    """One window, another one, and a session with an MCP server."""
    agent.rest()
    path = agent.project / "open.txt"
    path.write_text("text\n" * 1000)
    with ExitStack() as stack:
        used: list[float] = []
        bridges: list[int] = []
        for _ in range(2):
            client = stack.enter_context(agent.window())
            client.begin(agent.project)
            client.lenses(client.open(path))
            bridges.append(client.process.pid)
            processes = (*bridges, *agent.shared())
            settle(processes)
            used.append(pss(processes))
        client = stack.enter_context(agent.opened())
        return {WINDOW.name: used[1] - used[0], DAEMON.name: with_mcp(agent, client)[MCP.name]}


def ours(world: World) -> Sould:
    """Our agent."""
    return cast("Sould", world.agents[OURS])
