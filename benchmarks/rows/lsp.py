"""Editors that speak LSP: how soon one is served, and shows the hunks of a file; what one more window costs."""

import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

from agents import Sould
from processes import cpu, pss, settle
from row import OURS, AtMost, Figures, OfFloor, Row, Sides, measures
from rows.memory import MCP, with_mcp
from rows.startup import FIRST_BYTE, INTERPRETER, interpreter_ms
from world import World

HUNKS = 100
APART = 3
"""Lines from one to the next."""
KEYS = 20
LINES = 10_000
QUICK_KEYS, QUICKLY = 300, 10.0
"""So many keys in so many seconds."""

FIRST = Row(
    "lsp-first-initialize",
    "spawn -> `initialize` answered over LSP, daemon running that has served no LSP yet",
    "opening the first file in an editor",
    budget=AtMost(450),
)
WARM = Row(
    "lsp-warm-initialize",
    "spawn -> `initialize` answered over LSP, daemon running",
    "opening a file in one more editor",
    budget=OfFloor(1.25),
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
QUICK = Row(
    "lsp-typing",
    f"{QUICK_KEYS} keys in {QUICKLY:g} s in a file of {LINES:,} lines",
    "what typing fast costs",
    unit="% of a core",
    budget=AtMost(5),
)
ONCE = Row(
    "lsp-memory-once",
    "pygls and the types of the protocol, beside what the daemon has loaded for sessions",
    "what LSP costs once",
    unit="MB PSS",
    budget=AtMost(22),
)
LOADED = """
import sould.editors.lsp.server, sould.agents.clients.frontend.review, sould.daemon.process.main
before = pss([os.getpid()])
import sould.editors.lsp.protocol
print(pss([os.getpid()]) - before)
"""
"""Prints `ONCE`."""
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
    budget=AtMost(150),
)


@measures(FIRST, rounds=5)
def first(world: World) -> Generator[Sides]:
    """With a daemon that has only served ACP."""
    yield {OURS: partial(started_first, ours(world))}


def started_first(agent: Sould) -> Figures:
    """A daemon's first window, when it has loaded what it loads for others."""
    agent.rest()
    with agent.opened():
        settle(agent.shared())
        return {FIRST.name: started(agent)[WARM.name]}


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


@measures(ONCE, rounds=3)
def loaded(world: World) -> Generator[Sides]:
    """In an interpreter by itself."""
    yield {OURS: partial(loaded_once, world)}


def loaded_once(world: World) -> Figures:
    """What it says itself."""
    path = f"import os, sys; sys.path.append({str(Path(__file__).parent.parent)!r}); from processes import pss"
    command = [str(world.python), "-c", path + LOADED]
    return {ONCE.name: float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)}


@measures(QUICK, rounds=1)
def typing(world: World) -> Generator[Sides]:
    """From a fresh start."""
    yield {OURS: partial(typed_fast, ours(world), world.scaled(QUICK_KEYS, 20))}


def typed_fast(agent: Sould, keys: int) -> Figures:
    """Somebody who types in one window."""
    agent.rest()
    path = agent.project / "long.txt"
    path.write_text("line\n" * LINES)
    with agent.window() as window:
        window.begin(agent.project)
        uri = window.open(path)
        window.lenses(uri)
        daemon = agent.shared()
        settle(daemon)
        busy = cpu(daemon)
        for key in range(keys):
            window.type(uri, key + 2, LINES // 2)
            time.sleep(QUICKLY / QUICK_KEYS)
        window.lenses(uri)
        share = (cpu(daemon) - busy) / (keys * QUICKLY / QUICK_KEYS)
    return {QUICK.name: 100 * share}


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
