"""Whatever agent, commands and user do to a file, and however time is turned: no line the user typed is ever lost."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.sessions.session import Session
from sould.agents.wire.messages import FilesRestored
from soultest.bench import Watcher, call, finish, make_bench

AGENT, SHELL, USER, UNDO, REWIND, REDO = "agent", "shell", "user", "undo", "rewind", "redo"
moves = st.lists(
    st.tuples(st.sampled_from([AGENT, SHELL, USER, USER, UNDO, REWIND, REDO]), st.integers(0, 7)),
    min_size=3,
    max_size=9,
)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(moves)
def test_no_line_of_the_users_is_lost_by_turning_time(chosen: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory(prefix="sould-lost-") as root:
        asyncio.run(scenario(Path(root), chosen))


async def scenario(root: Path, chosen: list[tuple[str, int]]) -> None:
    bench = make_bench(root)
    path = bench.project / "a.txt"
    path.write_text("".join(f"line {n}\n" for n in range(8)))
    prompts = [move for move in chosen if move[0] in (AGENT, SHELL)]
    bench.script(*[script for n, move in enumerate(prompts) for script in (scripted(n, *move), "text: ok")])
    typed: list[str] = []
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        for n, (kind, at) in enumerate(chosen):
            if kind == USER:
                typed.append(f"typed {n}\n")
                lines = path.read_text().splitlines(keepends=True) if path.exists() else []
                lines.insert(at % (len(lines) + 1), typed[-1])
                path.write_text("".join(lines))
            else:
                await finish(watcher.session, prompt_of(watcher.session, kind, at))
            check(path, typed, watcher)
        held = path.read_text()
    async with bench.running():
        await bench.open(watcher.session.id)
    assert path.read_text() == held


def scripted(n: int, kind: str, at: int) -> str:
    """Each changes one line; an edit of a line that is not there any more is refused, which is fine."""
    if kind == AGENT:
        return call("StrReplaceFile", path="a.txt", edit={"old": f"line {at}\n", "new": f"line {at} agent {n}\n"})
    return call("Shell", command=f"sed -i 's/^line {at}.*$/line {at} shell {n}/' a.txt; echo {n} >> other.txt")


def prompt_of(session: Session, kind: str, at: int) -> str:
    turns = session.log.context.turns
    if kind == REWIND:
        return f"/rewind {turns[at % len(turns)]}" if turns else "/rewind"
    return {UNDO: "/undo", REDO: "/redo"}.get(kind, "go")


def check(path: Path, typed: list[str], watcher: Watcher) -> None:
    held = path.read_text()
    missing = [line for line in typed if line not in held]
    assert not missing, (missing, held, watcher.of(FilesRestored))
