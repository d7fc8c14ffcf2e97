"""The review of a project: opened with a long past, listed, typed in; and of a large file.

Measured inside the product, by programs in its environment.
"""

import json
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
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


LARGE = 200_000
"""Lines."""
SMALL = 2_000
BESIDE = f"{SMALL:,} lines"
"""What it costs whatever the size, and shows how much it grows with that."""

WRITE_LARGE = Row(
    "review-large-write",
    f"an agent's edit of one line in a file of {LARGE:,}",
    "that a large file is no reason to wait",
    floor=BESIDE,
)
KEEP_LARGE = Row("review-large-keep", "a hunk of that file is kept", "the same", floor=BESIDE)
UNDO_LARGE = Row("review-large-undo", "the edit of one line in it is taken back", "the same", floor=BESIDE)
UNDO_TWENTY = Row("review-large-undo-20", "then one with 20 hunks", "the same", floor=BESIDE)


@measures(WRITE_LARGE, KEEP_LARGE, UNDO_LARGE, UNDO_TWENTY, rounds=3)
def large(world: World) -> Generator[Sides]:
    """A program of its own for each size."""
    yield {OURS: partial(in_file, world, world.scaled(LARGE, 20_000)), BESIDE: partial(in_file, world, SMALL)}


def in_file(world: World, lines: int) -> Figures:
    """Run it."""
    figures = {
        WRITE_LARGE: "write_ms",
        KEEP_LARGE: "keep_ms",
        UNDO_LARGE: "undo_one_ms",
        UNDO_TWENTY: "undo_all_ms",
    }
    return run(world, "largefileprogram.py", [str(lines)], figures)


@measures(OPEN, LIST, EDIT, TYPING, rounds=3)
def review(world: World) -> Generator[Sides]:
    """One program finds all."""
    yield {OURS: partial(ours, world)}


def ours(world: World) -> Figures:
    """Run the program."""
    sizes = [str(world.scaled(EDITS, 200)), str(world.scaled(SECONDS, 1))]
    figures = {OPEN: "open_ms", LIST: "list_ms", EDIT: "edit_ms", TYPING: "typing_percent"}
    return run(world, "reviewprogram.py", sizes, figures)


def run(world: World, program: str, sizes: Sequence[str], figures: Mapping[Row, str]) -> Figures:
    """Run a program, which prints these figures."""
    with tempfile.TemporaryDirectory(dir=world.home) as scratch:
        command = [str(world.python), str(HERE / program), scratch, *sizes]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=world.home)
    if done.returncode:
        raise AgentFailedError(done.stderr)
    found = json.loads(done.stdout)
    return {row.name: found[key] for row, key in figures.items()}
