"""The review of a project: opened with a long past, listed, typed in. Measured inside the product, by a program in its environment."""

import json
import subprocess
import tempfile
from collections.abc import Generator
from functools import partial

from acpclient import AgentFailedError
from agents import HERE
from row import OURS, AtMost, Figures, Row, Sides, measures
from world import World

EDITS = 10_000
SECONDS = 10

OPEN = Row(
    "review-open-10000",
    f"a project with {EDITS:,} past edits is open",
    "that a project does not open slower with its age",
    budget=AtMost(100),
)
LIST = Row(
    "review-list-1000",
    "100 files with 1,000 hunks are looked at and listed",
    "how long a client waits for its list",
    budget=AtMost(50),
)
EDIT = Row(
    "review-edit-10000",
    "a user's edit in 10,000 lines with 200 hunks",
    "how soon hunks are where they belong",
    budget=AtMost(20),
)
TYPING = Row(
    "review-typing",
    "typing at 30 keys a second into that file",
    "what it costs while nobody reviews",
    unit="% of a core",
    budget=AtMost(5),
)


@measures(OPEN, LIST, EDIT, TYPING, rounds=3)
def review(world: World) -> Generator[Sides]:
    """One program finds all."""
    yield {OURS: partial(ours, world)}


def ours(world: World) -> Figures:
    """Run the program."""
    with tempfile.TemporaryDirectory(dir=world.home) as scratch:
        sizes = [str(world.scaled(EDITS, 200)), str(world.scaled(SECONDS, 1))]
        command = [str(world.python), str(HERE / "reviewprogram.py"), scratch, *sizes]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=world.home)
    if done.returncode:
        raise AgentFailedError(done.stderr)
    found = json.loads(done.stdout)
    figures = {OPEN: "open_ms", LIST: "list_ms", EDIT: "edit_ms", TYPING: "typing_percent"}
    return {row.name: found[key] for row, key in figures.items()}
