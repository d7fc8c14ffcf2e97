"""Who edits several files at once waits for others, and never for somebody who waits for them."""

import asyncio
from pathlib import Path

from sould.agents.base.filelocks import FileLocks


async def test_two_that_need_the_same_two_files_do_not_wait_for_each_other() -> None:
    locks, one, other = FileLocks(), Path("/one"), Path("/other")
    at_work: list[str] = []

    async def edit(name: str, *paths: Path) -> None:
        async with locks.editing(*paths):
            at_work.append(f"{name} begins")
            async with locks.editing(paths[-1]):
                at_work.append(f"{name} ends")

    async with locks.editing(one, other):
        edits = [asyncio.create_task(edit("first", one, other)), asyncio.create_task(edit("second", other, one))]
        await asyncio.sleep(0)
        assert not at_work

    await asyncio.gather(*edits)
    assert at_work == ["first begins", "first ends", "second begins", "second ends"]
