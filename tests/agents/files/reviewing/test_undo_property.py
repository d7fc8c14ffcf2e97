"""Whatever turns, decisions and typing came before: an undo loses nothing that was typed or kept, and redo gives back what was."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.files.review.file import TrackedFile
from soultest.luck import examples

AGENT, KEEP, REJECT, USER, RESTART = "agent", "keep", "reject", "user", "restart"
moves = st.lists(
    st.tuples(st.sampled_from([AGENT, AGENT, USER, KEEP, REJECT, RESTART]), st.integers(0, 11), st.booleans()),
    min_size=1,
    max_size=8,
)


@pytest.mark.long
@settings(max_examples=examples(100), deadline=None)
@given(moves, st.integers(0, 3))
def test_undo_loses_nothing_typed_or_kept_and_redo_at_once_gives_back_what_was(
    chosen: list[tuple[str, int, bool]], turn: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="sould-undo-") as root:
        asyncio.run(scenario(Path(root), chosen, turn))


async def scenario(root: Path, chosen: list[tuple[str, int, bool]], turn: int) -> None:
    desk = ReviewDesk(root)
    desk.user("a.txt", "".join(f"line {n}\n" for n in range(8)))
    turns: list[str] = []
    typed: set[str] = set()
    for n, (kind, at, more) in enumerate(chosen):
        lines = desk.text("a.txt").splitlines(keepends=True)
        if kind == AGENT:
            turns.append(f"T{n}")
            await desk.agent("a.txt", written(lines, n, at, more, typed), turns[-1])
        elif kind == USER:
            lines.insert(at % (len(lines) + 1), f"typed {n}\n")
            typed.add(f"typed {n}\n")
            desk.user("a.txt", "".join(lines))
        elif kind == RESTART:
            await desk.restart()
        else:
            hunks = await desk.hunks()
            if hunks:
                await desk.decide("keep" if kind == KEEP else "reject", hunks[at % len(hunks)].id)
    await desk.hunks()
    if turns:
        await undone_and_redone(desk, turns[turn % len(turns)], typed)
    await desk.aclose()


def written(lines: list[str], n: int, at: int, more: bool, typed: set[str]) -> str:
    """The agent changes one line that is not the user's, or two, and leaves the others."""
    own = [i for i, line in enumerate(lines) if line not in typed]
    for i in [own[at % len(own)], own[(at + 3) % len(own)]][: 1 + more] if own else []:
        lines[i] = f"agent {n} {i}\n" + (f"agent {n} {i} more\n" if at % 2 else "")
    return "".join(lines)


async def undone_and_redone(desk: ReviewDesk, turn: str, typed: set[str]) -> None:
    before, text = await tracked(desk), desk.text("a.txt")
    away = before.text.away if before is not None else ()
    kept = {line for each in away if each.state == "kept" for line in each.hunk.texts}
    kept &= set(text.splitlines(keepends=True))
    await desk.undo(turn)
    left = desk.text("a.txt").splitlines(keepends=True)
    assert typed | kept <= set(left)
    assert len(left) == len(set(left))
    after = await tracked(desk)
    assert after is None or "".join(after.text.current) == desk.text("a.txt")
    await desk.restart()
    assert await tracked(desk) == after
    await desk.redo()
    assert desk.text("a.txt") == text
    now = await tracked(desk)
    assert seen(now) == seen(before)


def seen(file: TrackedFile | None) -> object:
    """What a client is shown."""
    assert file is not None
    return file.text.base, [(each.hunk.id, each.hunk.digest, each.hunk.agents) for each in file.text.hunks]


async def tracked(desk: ReviewDesk) -> TrackedFile | None:
    await desk.session()
    log_id, project = await desk.projects.borrow(desk.root)
    file = project.review.state.files.get(str(desk.root / "a.txt"))
    await desk.projects.give_back(log_id)
    return file.numbered(0) if file is not None else None
