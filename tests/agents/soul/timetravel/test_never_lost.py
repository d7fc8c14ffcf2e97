"""Whatever agent, commands and user do to a file, and however time is turned: no line the user typed is ever lost.

And never the user's git index, branch, untracked files or times.
"""

import asyncio
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.sessions.session import Session
from sould.agents.wire.messages import FilesRestored
from soultest.bench import Watcher, call, finish, make_bench
from soultest.bench.looks import turns_of
from soultest.luck import examples

AGENT, SHELL, USER, UNDO, REWIND, REDO = "agent", "shell", "user", "undo", "rewind", "redo"
moves = st.lists(
    st.tuples(st.sampled_from([AGENT, SHELL, USER, USER, UNDO, REWIND, REDO]), st.integers(0, 7)),
    min_size=3,
    max_size=9,
)


@pytest.mark.long
@settings(max_examples=examples(10), deadline=None)
@given(moves)
def test_turning_time_loses_no_line_of_the_users_and_leaves_git_and_other_files_as_they_are(
    chosen: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory(prefix="sould-lost-") as root:
        asyncio.run(scenario(Path(root), chosen))


async def scenario(root: Path, chosen: list[tuple[str, int]]) -> None:
    bench = make_bench(root)
    path = bench.project / "a.txt"
    path.write_text("".join(f"line {n}\n" for n in range(8)))
    users = of_the_user(bench.project)
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
            assert others(bench.project) == users
        held = path.read_text()
    async with bench.running():
        await bench.open(watcher.session.id)
    assert path.read_text() == held


def of_the_user(project: Path) -> dict[str, object]:
    """A repository with a file of each kind that an agent must leave alone; how it looks."""
    for name in ("kept.txt", "staged.txt"):
        (project / name).write_text("committed\n")
    git = ["git", "-c", "user.name=u", "-c", "user.email=u@example.invalid"]
    for arguments in (["init", "-q", "-b", "mine"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)
    (project / "staged.txt").write_text("staged\n")
    subprocess.run([*git, "add", "staged.txt"], cwd=project, check=True)
    (project / "staged.txt").write_text("and changed since\n")
    (project / "untracked").mkdir()
    (project / "untracked" / "file").write_text("mine\n")
    (project / "untracked" / "link").symlink_to("file")
    return others(project)


def others(project: Path) -> dict[str, object]:
    """How everything looks that no agent works on, git's own files included."""
    looks: dict[str, object] = {}
    for path in project.rglob("*"):
        if path.name not in ("a.txt", "other.txt"):
            status = path.lstat()
            looks[str(path.relative_to(project))] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return looks


def scripted(n: int, kind: str, at: int) -> str:
    """Each changes one line; an edit of a line that is not there any more is refused, which is fine."""
    if kind == AGENT:
        return call("StrReplaceFile", path="a.txt", edit={"old": f"line {at}\n", "new": f"line {at} agent {n}\n"})
    return call("Shell", command=f"sed -i 's/^line {at}.*$/line {at} shell {n}/' a.txt; echo {n} >> other.txt")


def prompt_of(session: Session, kind: str, at: int) -> str:
    turns = turns_of(session)
    if kind == REWIND:
        return f"/rewind {turns[at % len(turns)]}" if turns else "/rewind"
    return {UNDO: "/undo", REDO: "/redo"}.get(kind, "go")


def check(path: Path, typed: list[str], watcher: Watcher) -> None:
    held = path.read_text()
    missing = [line for line in typed if line not in held]
    assert not missing, (missing, held, watcher.of(FilesRestored))
