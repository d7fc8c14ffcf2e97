"""The journal: the one budget that is inside the product, so that it is measured there, by a program in its environment."""

import json
import subprocess
import tempfile
from collections.abc import Generator
from functools import partial

from acpclient import AgentFailedError
from agents import HERE
from row import OURS, Figures, OfFloor, Row, Sides, measures
from world import World

RECORDS = 20_000
EARLY = "the first tenth"
BARE = "write + fdatasync"

APPEND = Row(
    "append",
    f"append to a journal, the last tenth of {RECORDS:,} records",
    "that a session does not slow down with its age",
    unit="us",
    budget=OfFloor(1.5),
    floor=EARLY,
)
PROMISE = Row(
    "promise",
    "append and promise (group commit)",
    "what it costs that nothing shown is lost",
    budget=OfFloor(2),
    floor=BARE,
)


@measures(APPEND, PROMISE, rounds=3)
def append(world: World) -> Generator[Sides]:
    """One program finds all; each side gives its part."""
    latest: dict[str, float] = {}
    yield {
        OURS: partial(ours, world, latest),
        EARLY: lambda: {APPEND.name: latest["first_us"]},
        BARE: lambda: {PROMISE.name: latest["sync_ms"]},
    }


def ours(world: World, latest: dict[str, float]) -> Figures:
    """Run the program."""
    with tempfile.TemporaryDirectory(dir=world.home) as scratch:
        command = [str(world.python), str(HERE / "journalprogram.py"), scratch, str(world.scaled(RECORDS, 100))]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=world.home)
    if done.returncode:
        raise AgentFailedError(done.stderr)
    latest.update(json.loads(done.stdout))
    return {APPEND.name: latest["last_us"], PROMISE.name: latest["promise_ms"]}
