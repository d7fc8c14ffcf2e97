"""Runs in the product's environment: an agent writes a large file, its user decides about a hunk of it, and takes the turns back.

usage: largefileprogram.py SCRATCH LINES; prints one JSON object.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable
from pathlib import Path

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Command, RunningCommand
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.restore import take_back
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.tools import ToolCallContext

HUNKS = 20


def text(lines: int, *, changed: bool = False) -> str:
    """A file; with a line in each twentieth of it changed."""
    every = lines // HUNKS
    return "".join(
        f"{'LINE' if changed and n % every == every // 2 else 'line'} {n} of the text\n" for n in range(lines)
    )


async def nothing_runs(command: Command) -> RunningCommand:
    """There are no commands here."""
    raise AssertionError(command.line)


async def write(files: SessionFiles, path: Path, now: str, turn: str) -> None:
    """A tool of an agent writes the file."""
    call = files.for_call(ToolCallContext(f"call of {turn}", 1, turn_id=turn))
    await call.write_text(path, now, expected=digest_of(path.read_bytes()))


async def taken(what: Awaitable[object]) -> float:
    """In milliseconds."""
    begin = time.perf_counter()
    await what
    return (time.perf_counter() - begin) * 1e3


async def main(scratch: Path, lines: int) -> None:
    """All of it, in a file of so many lines."""
    root, state = scratch / "project", scratch / "state"
    session = state / "sessions" / "bench"
    for folder in (root, session):
        folder.mkdir(parents=True)
    path = root / "large.txt"
    path.write_text(text(lines))
    projects = Projects(state)
    files = await SessionFiles.open(LocalWorkspace(root, (), nothing_runs), projects, Author("bench", session, state))
    first = text(lines, changed=True)
    second = first.replace("line 5 of", "the fifth of")
    async with ProjectPort.opened(projects, root, scratch, "editor") as port:
        await write(files, path, first, "T1")
        write_ms = await taken(write(files, path, second, "T2"))
        [review] = await port.pending_now()
        keep_ms = await taken(port.review.decide(Order("keep", Selection((review.hunks[2].id,)), "bench")))
        undo_one_ms = await taken(take_back(files, lambda edit: edit.turn_id == "T2", "u1", ""))
        undo_all_ms = await taken(take_back(files, lambda edit: edit.turn_id == "T1", "u2", ""))
    await files.aclose()
    kept = text(lines).splitlines()
    assert sum(line != was for line, was in zip(path.read_text().splitlines(), kept, strict=True)) == 1
    print(
        json.dumps({"write_ms": write_ms, "keep_ms": keep_ms, "undo_one_ms": undo_one_ms, "undo_all_ms": undo_all_ms})
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
