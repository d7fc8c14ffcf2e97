"""Runs in the product's environment: a project with a long past is opened, listed and typed in, as clients do.

usage: reviewprogram.py SCRATCH EDITS SECONDS; prints one JSON object.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.edits.editlog import Decided, EditLogFile, Event, Intent, Settled
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.review.hunk import Hunk, Line

FILES = 100
LINES = 300
PENDING = 1000
"""Hunks of the project with a long past: the edits made last."""
LARGE = 10_000
"""Lines of the file that is typed in."""
HUNKS = 200
KEYS = 30
"""A second."""
ROUNDS = 15


@dataclass
class Past:
    """Edits of agents, written as the product writes them; each is a hunk of its own, and `kept` of them are kept."""

    root: Path
    store: BlobStore
    kept: int
    lines: dict[Path, list[str]] = field(default_factory=dict)
    count: int = 0
    n: int = 0

    def edits(self, paths: list[Path], count: int) -> Iterator[Event]:
        """Of these files in turn, at every third line from the top, over and over."""
        for number in range(count):
            path = paths[number % len(paths)]
            lines = self.lines.setdefault(path, [f"line {n} of {path.name}\n" for n in range(LINES)])
            at = number // len(paths) * 3 % len(lines)
            yield from self._edit(path, lines, at)

    def _edit(self, path: Path, lines: list[str], at: int) -> Iterator[Event]:
        before, line = self._put(lines), lines[at]
        lines[at] = f"line {at}, edit {self.count}\n"
        self.count += 1
        self.n += 2
        intent = Intent(
            n=self.n,
            path=str(path),
            before=before,
            after=self._put(lines),
            before_mode=0o100644,
            after_mode=0o100644,
            session_id=f"session {self.count // 500}",
            turn_id=f"turn {self.count // 10}",
            call_id=f"call {self.count}",
            timestamp=time.time(),
            changed=((at, at + 1, at, at + 1),),
            reviewed=True,
        )
        yield intent
        yield Settled(n=self.n, written=True, first_id=self.count)
        if self.count <= self.kept:
            keep = Decided(
                n=self.n + 1,
                path=intent.path,
                verdict="keep",
                hunk_id=self.count,
                digest=Hunk(self.count, (line,), (Line(lines[at]),), ()).digest,
                by="bench",
                timestamp=time.time(),
            )
            yield keep
            yield Settled(n=keep.n, written=True, first_id=self.count + 1)

    def _put(self, lines: list[str]) -> str:
        return self.store.put("".join(lines).encode(), sync=False)


def write(projects: Projects, log_id: str, past: Past, paths: list[Path], count: int) -> None:
    """The edits, in the log and on disk."""
    file = EditLogFile(projects.state_dir / "projects" / log_id / "edits.jsonl")
    file.append(*past.edits(paths, count), sync=False)
    file.close()
    for path, lines in past.lines.items():
        path.write_text("".join(lines))


async def made(scratch: Path, name: str) -> tuple[Projects, Path, str]:
    """A project without a past."""
    root, state = scratch / name, scratch / f"{name}-state"
    root.mkdir()
    state.mkdir()
    projects = Projects(state)
    log_id, _ = await projects.borrow(root)
    await projects.give_back(log_id)
    return projects, root, log_id


async def long_past(scratch: Path, edits: int) -> dict[str, float]:
    """Milliseconds until a project with many past edits is open, and to list what is pending in it."""
    projects, root, log_id = await made(scratch, "past")
    paths = [root / f"module{number}.py" for number in range(FILES)]
    past = Past(root, projects.store, max(0, edits - PENDING))
    write(projects, log_id, past, paths, edits)
    opened: list[float] = []
    listed: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        async with ProjectPort.opened(Projects(projects.state_dir), root, scratch, "editor") as port:
            opened.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            reviews = await port.pending_now()
            listed.append(time.perf_counter() - begin)
            assert sum(len(each.hunks) for each in reviews) == min(edits, PENDING)
    del opened[0]  # it wrote the snapshot
    return {"open_ms": statistics.median(opened) * 1e3, "list_ms": statistics.median(listed) * 1e3}


async def typing(scratch: Path, seconds: float) -> dict[str, float]:
    """Milliseconds of a user's edit in a large file with hunks; percent of a core while somebody types in it."""
    projects, root, log_id = await made(scratch, "typing")
    path = root / "large.py"
    past = Past(root, projects.store, 0, {path: [f"line {n}\n" for n in range(LARGE)]})
    write(projects, log_id, past, [path], HUNKS)
    lines = past.lines[path]
    async with ProjectPort.opened(projects, root, scratch, "editor") as port:
        edits = [await edit(port, path, lines, number) for number in range(ROUNDS)]
        port.documents.open(path)
        begin, used = time.perf_counter(), time.process_time()
        for number in range(max(2, round(KEYS * seconds))):
            lines[LARGE // 2] = f"{lines[LARGE // 2].rstrip()}x\n"
            port.documents.change(path, "".join(lines))
            await asyncio.sleep(max(0.0, begin + number / KEYS - time.perf_counter()))
        percent = (time.process_time() - used) / (time.perf_counter() - begin) * 100
    return {"edit_ms": statistics.median(edits) * 1e3, "typing_percent": percent}


async def edit(port: ProjectPort, path: Path, lines: list[str], number: int) -> float:
    """Seconds until an edit of the user's that was saved is known."""
    lines[number * LARGE // ROUNDS + 1] = f"the user's {number}\n"
    path.write_text("".join(lines))
    begin = time.perf_counter()
    reviews = await port.pending_now()
    taken = time.perf_counter() - begin
    assert len(reviews) == 1
    return taken


async def main(scratch: Path, edits: int, seconds: float) -> None:
    """All of it."""
    print(json.dumps({**await long_past(scratch, edits), **await typing(scratch, seconds)}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
