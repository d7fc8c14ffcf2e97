"""A file that a command makes and takes away in steps, with a look after each: rejecting all of it leaves nothing behind."""

import asyncio
import os

import pytest
from tests.agents.files.reviewing.commanddesk import desk

from soultest.bench import Bench, call

MAKE, EMPTY, MORE, REMOVE = "echo new > new.txt", ": > new.txt", "echo more >> new.txt", "rm new.txt"


@pytest.mark.parametrize("one_by_one", [False, True], ids=["together", "one by one"])
@pytest.mark.parametrize(
    "steps",
    [
        (EMPTY, MAKE),
        (MAKE, EMPTY),
        (MAKE, EMPTY, MORE),
        (EMPTY, REMOVE),
        (EMPTY, MAKE, REMOVE),
        (EMPTY, REMOVE, MAKE),
        (MAKE, REMOVE),
        (MAKE, REMOVE, MAKE),
        (MAKE, REMOVE, EMPTY),
        (MAKE, REMOVE, EMPTY, MORE),
        ("rm b.txt", "echo other > b.txt", "rm b.txt"),
        (": > b.txt", "rm b.txt", "echo 1 > b.txt"),
    ],
    ids=str,
)
async def test_rejecting_all_leaves_the_project_as_it_was(
    bench: Bench, steps: tuple[str, ...], *, one_by_one: bool
) -> None:
    (bench.project / "b.txt").write_text("1\n2\n3\n")
    before = {each.name: each.read_text() for each in bench.project.iterdir()}
    go, done = bench.root / "go", bench.root / "done"
    for pipe in (go, done):
        os.mkfifo(pipe)
    work = "".join(f"read go < {go}; {step}; echo > {done}; " for step in steps) + f"read go < {go}"
    start = call("Shell", command=work, description="later", run_in_background=True)
    async with desk(bench, start, "text: 1") as at:
        await at.turn()
        for _ in steps:
            await asyncio.to_thread(go.write_text, "go\n")
            await asyncio.to_thread(done.read_text)
            await at.shown()
        rounds = 0
        while (pending := [each.id for each in await at.pending()]) and rounds < 9:
            outcome = await at.reject(*pending[: 1 if one_by_one else None])
            assert outcome.left == ()
            rounds += 1
        assert {each.name: each.read_text() for each in bench.project.iterdir()} == before
        await asyncio.to_thread(go.write_text, "go\n")
