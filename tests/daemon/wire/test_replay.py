"""The pages of a replay: together they are the whole, and each costs about its own size."""

import sys
from pathlib import Path

import pytest

from soultest.bench import Bench
from soultest.wireprogram import NEW, Json, WireProgram, wire_connected

LONG = "x" * 2000


async def page(program: WireProgram, since: int, limit: int) -> tuple[list[Json], int | None]:
    """What is sent of it, and where the next one begins."""
    before = len(program.lines)
    answer = await program.result("replay", since=since, limit=limit)
    return program.lines[before:-1], answer["next"]


async def test_the_pages_of_a_long_session_are_the_whole_replay_and_none_begins_at_the_beginning(bench: Bench) -> None:
    bench.script(*(f"text: {number} {LONG}" for number in range(300)))
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        for number in range(150):
            await program.result("prompt", user_input=f"{number}")
        before = len(program.lines)
        await program.result("replay")
        whole = program.lines[before:-1]
        paged: list[Json] = []
        since: int | None = 0
        while since is not None:
            lines, since = await page(program, since, 100)
            assert len(lines) <= 100
            paged += lines
        assert paged == whole


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel counts what a process reads there")
async def test_a_late_page_reads_little_of_a_long_journal(bench: Bench) -> None:
    bench.settings["model"] = {"max_context_size": 10_000_000}
    bench.script(*("text: " + LONG * 100 for _ in range(20)))
    async with bench.running(), wire_connected(bench) as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        for number in range(8):
            await program.result("prompt", user_input=f"{number}")
        _, since = await page(program, 0, program.types.index("TurnEnd"))
        last = 0
        while since is not None:
            last, (_, since) = since, await page(program, since, 4)
        [journal] = bench.state.glob(f"**/sessions/{session}/wire.jsonl")
        before = read_so_far()
        await page(program, last, 4)
        assert read_so_far() - before < journal.stat().st_size // 2


def read_so_far() -> int:
    """Bytes that this process has asked the kernel for."""
    return int(Path("/proc/self/io").read_text().split()[1])
