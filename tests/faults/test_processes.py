"""The process guard: real processes, nothing left, nothing leaked."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sould.agents.base.process.guard import GuardedProcess, ProcessGuard
from sould.agents.base.workspace import CommandExit
from soultest.daemon import count, until
from soultest.processes import MARK, descriptors, marked, memory, until_gone

MIB = 1024 * 1024


class Bench:
    def __init__(self, guard: ProcessGuard, cwd: Path) -> None:
        self.guard = guard
        self.cwd = cwd
        self.mark = secrets.token_hex(8)

    async def start(self, line: str, *, timeout: float | None = None, grace: float = 0.3) -> GuardedProcess:
        env = {"PATH": os.environ["PATH"], MARK: self.mark}
        argv = ["/bin/bash", "--noprofile", "--norc", "-c", line]
        return await self.guard.start(argv, self.cwd, env, timeout=timeout, grace=grace)

    async def run(self, line: str, *, timeout: float | None = None) -> tuple[bytes, CommandExit]:
        process = await self.start(line, timeout=timeout)
        output = b"".join([piece async for piece in process.output()])
        return output, await process.wait()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(ProcessGuard(headroom=400), tmp_path)
    yield bench
    await bench.guard.aclose()
    assert until_gone(bench.mark, 3) == []


TREES = {
    "plain": "echo ready; sleep 1000",
    "background": "sleep 1000 & sleep 1001 & echo ready; wait",
    "double-forked into a new session": "(setsid sh -c 'setsid sleep 1000 & exit' &); echo ready; sleep 1000",
    "deaf to TERM": "trap '' TERM; (trap '' TERM; sleep 1000) & echo ready; while :; do sleep 1000; done",
    "stopped": "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$",
    "closed its output": "sleep 1000 >/dev/null 2>&1 & echo ready; exec >/dev/null 2>&1; sleep 1000",
    "a thousand children": "for i in $(seq 1000); do sleep 1000 & done; echo ready; wait",
}


@pytest.mark.parametrize("line", TREES.values(), ids=TREES.keys())
async def test_a_timeout_ends_the_whole_tree_whatever_it_did(bench: Bench, line: str) -> None:
    bench.guard = ProcessGuard()
    process = await bench.start(line)
    output = process.output()
    assert (await anext(output)) == b"ready\n"
    until(lambda: marked(bench.mark))  # a process that becomes another program has no environment for a moment
    await process.kill()
    assert marked(bench.mark) == []
    assert [piece async for piece in output] == []
    await bench.guard.aclose()


async def test_a_command_over_its_time_says_so(bench: Bench) -> None:
    output, ended = await bench.run("echo begun; sleep 1000", timeout=0.2)
    assert output == b"begun\n"
    assert ended == CommandExit(code=None, signal=signal.SIGTERM, timed_out=True)
    assert marked(bench.mark) == []


async def test_term_comes_before_kill(bench: Bench) -> None:
    process = await bench.start("trap 'echo saved; exit 7' TERM; echo ready; sleep 1000 & wait")
    output = process.output()
    await anext(output)
    await process.kill()
    assert [piece async for piece in output] == [b"saved\n"]
    assert (await process.wait()).code == 7


async def test_what_a_command_leaves_behind_is_ended_and_counted(bench: Bench) -> None:
    output, ended = await bench.run("sleep 1000 & (setsid sleep 1001 &); echo done")
    assert output == b"done\n"
    assert ended == CommandExit(code=0, strays=2)
    assert marked(bench.mark) == []


async def test_a_process_substitution_may_finish_its_output(bench: Bench) -> None:
    output, ended = await bench.run("echo text > >(sleep 0.01; cat)")
    assert output == b"text\n"
    assert ended.strays == 0


async def test_standard_input_is_empty_and_there_is_no_terminal(bench: Bench) -> None:
    output, _ = await bench.run("cat; cat < /dev/tty; echo end")
    assert b"No such device or address" in output
    assert output.endswith(b"end\n")


@pytest.mark.needs_root
async def test_a_fork_bomb_is_capped_and_ended(bench: Bench) -> None:
    bomb = "setpriv --reuid 65534 --clear-groups -- bash -c 'echo ready; :(){ :|:& };:; sleep 1000'"
    process = await bench.start(bomb)
    output = process.output()
    assert b"ready" in await anext(output)
    async for piece in output:
        if b"Resource temporarily unavailable" in piece:  # the cap holds
            break
    await process.kill()
    assert marked(bench.mark) == []
    assert (await bench.run("echo alive"))[0] == b"alive\n"


async def test_a_command_that_kills_its_keeper_is_ended_by_the_guard(bench: Bench) -> None:
    process = await bench.start("sleep 1000 & (setsid sleep 1001 &); kill -9 $PPID; sleep 1000")
    assert (await process.wait()).signal == signal.SIGKILL
    assert until_gone(bench.mark, 3) == []
    assert (await bench.run("echo alive"))[0] == b"alive\n"


async def test_a_dead_guard_is_replaced(bench: Bench) -> None:
    first = await bench.start("echo $PPID; sleep 1000")
    guardian = int(await anext(first.output()))
    guard = int(Path(f"/proc/{guardian}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    assert (await bench.run("echo alive"))[0] == b"alive\n"
    await first.kill()  # its keeper is still there for it
    assert marked(bench.mark) == []


OWNER = """
import asyncio, sys
from pathlib import Path
from sould.agents.base.process.guard import ProcessGuard

async def main():
    guard = ProcessGuard()
    for line in sys.argv[3:]:
        process = await guard.start(["/bin/bash", "-c", line], Path(sys.argv[2]), {"PATH": "/usr/bin:/bin", "SOULTEST_MARK": sys.argv[1]})
        await anext(process.output())
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_after_kill_9_of_the_owner_nothing_is_alive(tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    lines = [*(line for name, line in TREES.items() if name != "a thousand children"), "echo ready; yes"]
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, mark, str(tmp_path), *lines, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"ready\n"
    guards = [int(pid) for pid in Path(f"/proc/{owner.pid}/task/{owner.pid}/children").read_text().split()]
    assert len(marked(mark)) >= len(lines)
    owner.kill()
    await owner.wait()
    assert until_gone(mark, 3) == []
    for guard in guards:
        await asyncio.to_thread(_await_end, guard)


def _await_end(pid: int) -> None:
    while Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        os.sched_yield()


FLOODS = {
    "one line": ("head -c 300000000 /dev/zero | tr '\\0' A", 300_000_000),
    "yes": ("yes | head -c 100000000", 100_000_000),
    "binary": ("head -c 100000000 /dev/urandom", 100_000_000),
}


@pytest.mark.parametrize(("line", "size"), FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_of_output_does_not_grow_memory(bench: Bench, line: str, size: int) -> None:
    await bench.run("true")
    before, most, received = memory(), 0, 0
    process = await bench.start(line)
    async for piece in process.output():
        received += len(piece)
        if received % (64 * len(piece)) == 0:
            most = max(most, memory())
    assert received == size
    assert max(most, memory()) - before < 32 * MIB
    assert (await process.wait()).code == 0


async def test_output_nobody_reads_stops_the_command_not_the_loop(bench: Bench) -> None:
    before = memory()
    process = await bench.start("yes")
    output = process.output()
    await anext(output)
    assert (await bench.run("echo other"))[0] == b"other\n"
    assert memory() - before < 32 * MIB
    await process.kill()


async def test_other_work_goes_on_during_a_flood(bench: Bench) -> None:
    process = await bench.start("yes")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while ticks < 100:
            await asyncio.sleep(0)
            ticks += 1
        await process.kill()

    async with asyncio.TaskGroup() as group:
        group.create_task(tick())
        async for _ in process.output():
            pass
    assert ticks == 100


async def test_a_command_inherits_only_its_three_descriptors(bench: Bench) -> None:
    keep = os.open(bench.cwd, os.O_RDONLY)
    os.set_inheritable(keep, True)
    output, _ = await bench.run("ls -l /proc/self/fd")
    os.close(keep)
    links = [line.split()[-3::2] for line in output.decode().splitlines()[1:]]
    given = {name: target for name, target in links if not target.endswith("/fd")}  # that one is the listing itself
    assert given.keys() == {"0", "1", "2"}
    assert given["0"] == "/dev/null"
    assert given["1"] == given["2"]


async def test_descriptors_are_constant_over_many_runs(bench: Bench) -> None:
    await bench.run("true")
    before = descriptors()
    room = asyncio.Semaphore(8)

    async def one(number: int) -> None:
        async with room:
            line = ("true", "exit 1", "echo text", "sleep 1000")[number % 4]
            process = await bench.start(line)
            if number % 4 == 3:
                await process.kill()
            elif number % 4:
                assert [piece async for piece in process.output()] == ([b"text\n"] if number % 4 == 2 else [])
            await process.wait()

    async with asyncio.TaskGroup() as group:
        for number in range(count(1000, 200)):
            group.create_task(one(number))
    assert descriptors() == before
    assert bench.guard.running == 0
