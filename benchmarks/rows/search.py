"""Searches in large trees, with and without `rg` on PATH, beside `rg` itself."""

import os
import subprocess
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path

from agents import Tool
from row import AtMost, Figures, Measurement, OfFloor, Row, Sides, measures
from rows.channel import Channel, channel
from sould.agents.base.environment import Environment
from sould.agents.base.process.searching import Ripgrep
from trees import NEEDLE
from world import World

SIZES = (20_000, 100_000)
RG = "rg"
GIT_GREP = "git grep"
LONGEST_S = 60.0
"""Nobody waits longer for a search."""
GLOB = Row(
    "glob-100000",
    "Glob for one name among 100,000 files: call -> next request",
    "finding a file by its name",
    budget=AtMost(100),
)


def searched(files: int, *, rg: bool) -> Measurement:
    """The measurement for one size."""
    row = Row(
        f"grep-{files}" + ("" if rg else "-no-rg"),
        f"Grep in {files:,} files, {'with' if rg else 'without'} `rg` on PATH: call -> next request",
        "each search of the agent" if rg else "the same on a machine without ripgrep",
        budget=OfFloor(1.5),
        floor=RG,
    )

    @measures(row, rounds=3, quick=0)
    def prepare(world: World) -> Generator[Sides]:
        tree = world.tree(files, git=True)
        path = "" if rg else world.path_without("rg")
        sides: dict[str, partial[Figures]] = {
            RG: partial(
                program, row, tree, Ripgrep().program(Environment(os.environ, provider_keys=())) or RG, "-l", NEEDLE
            ),
            GIT_GREP: partial(program, row, tree, "git", "grep", "-l", NEEDLE),
        }
        yield sides | {
            name: partial(found, row, world, name, tree, path) for name, agent in world.agents.items() if agent.grep
        }

    return prepare


def program(row: Row, tree: Path, *command: str) -> Figures:
    """A search without an agent."""
    begin = time.perf_counter()
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return {row.name: (time.perf_counter() - begin) * 1e3}


def found(row: Row, world: World, name: str, tree: Path, path: str) -> Figures:
    """A search by the agent."""
    tool = world.agents[name].grep
    assert tool
    with channel(world.agents[name], tree, path) as opened:
        return {row.name: search(opened, tool, NEEDLE)}


def search(opened: Channel, tool: Tool, pattern: str) -> float:
    """Milliseconds of one search, with a limit to what is waited for."""
    name, arguments = tool
    opened.client.patience = LONGEST_S
    return opened.client.call(opened.session, name, arguments(pattern))


@measures(GLOB, rounds=3)
def glob(world: World) -> Generator[Sides]:
    """By name."""
    tree = world.tree(SIZES[-1], git=True)
    yield {name: partial(named, world, name, tree) for name, agent in world.agents.items() if agent.glob}


def named(world: World, name: str, tree: Path) -> Figures:
    """One search."""
    tool = world.agents[name].glob
    assert tool
    with channel(world.agents[name], tree) as opened:
        return {GLOB.name: search(opened, tool, "**/file77*.py")}


SEARCHES = tuple(searched(files, rg=rg) for files in SIZES for rg in (True, False))
