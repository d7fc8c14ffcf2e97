"""The guard: starting, errors, input, the environment, closing."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sould.agents.environment import Environment
from sould.agents.process.commands import CommandRunner
from sould.agents.process.guard import CommandStartError, ProcessGuard
from sould.agents.workspace import Command
from soultest.processes import MARK, descriptors, marked


@pytest.fixture
async def guard() -> AsyncIterator[ProcessGuard]:
    guard = ProcessGuard()
    yield guard
    await guard.aclose()


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-program"], "/", "no-such-program cannot be run"),
        (["/etc/passwd"], "/", "Permission denied"),
        (["true"], "/no/such/place", "/no/such/place cannot be entered"),
        (["true", "x" * 200_000], "/", "too long"),
        (["tr\0ue"], "/", "cannot be run"),
    ],
)
async def test_a_failed_start_says_what_and_why_and_leaks_nothing(
    guard: ProcessGuard, argv: list[str], cwd: str, words: str
) -> None:
    with pytest.raises(CommandStartError, match=words):
        await guard.start(argv, Path(cwd), {"PATH": os.environ["PATH"]})
    before = descriptors()
    with pytest.raises(CommandStartError):
        await guard.start(argv, Path(cwd), {"PATH": os.environ["PATH"]})
    assert descriptors() == before


async def test_the_command_gets_exactly_the_given_environment_and_directory(
    guard: ProcessGuard, tmp_path: Path
) -> None:
    process = await guard.start(["/usr/bin/env"], tmp_path, {"A": "1", "B": "ü\n\udcff"})
    output = b"".join([piece async for piece in process.output()])
    assert output == b"A=1\nB=\xc3\xbc\n\xff\n"
    process = await guard.start(["/bin/pwd"], tmp_path, {})
    assert [piece async for piece in process.output()] == [f"{tmp_path}\n".encode()]


async def test_a_process_can_be_fed_through_its_input(guard: ProcessGuard, tmp_path: Path) -> None:
    process = await guard.start(["/usr/bin/wc", "-c"], tmp_path, {}, stdin=True)
    await process.send(b"x" * 1_000_000)
    process.close_input()
    assert [piece async for piece in process.output()] == [b"1000000\n"]
    assert (await process.wait()).code == 0


async def test_a_cancelled_start_leaves_nothing(guard: ProcessGuard, tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    (await guard.start(["/bin/true"], tmp_path, {})).output()
    for patience in range(4):
        task = asyncio.ensure_future(guard.start(["/bin/sleep", "1000"], tmp_path, {MARK: mark}))
        for _ in range(patience):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    await guard.aclose()
    assert marked(mark) == []


async def test_closing_kills_what_runs_and_refuses_more(tmp_path: Path) -> None:
    guard, mark = ProcessGuard(), secrets.token_hex(8)
    process = await guard.start(["/bin/sleep", "1000"], tmp_path, {MARK: mark})
    await guard.aclose()
    assert marked(mark) == []
    assert (await process.wait()).signal is not None
    with pytest.raises(CommandStartError, match="stopping"):
        await guard.start(["/bin/true"], tmp_path, {})


async def test_a_guard_that_was_never_used_costs_no_process() -> None:
    before = descriptors()
    await ProcessGuard().aclose()
    assert descriptors() == before


async def test_the_runner_runs_the_exact_line_with_bash_and_no_start_up_files(
    guard: ProcessGuard, tmp_path: Path
) -> None:
    (tmp_path / "evil").write_text("echo evil\n")
    (tmp_path / ".bashrc").write_text("echo evil\n")
    session = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BASH_ENV": str(tmp_path / "evil"), "WORD": "given"}
    runner = CommandRunner(guard, Environment(session))
    running = await runner.run(Command("umask; echo \"$WORD\" 'a  b'; echo err >&2", tmp_path, timeout=10))
    assert b"".join([piece async for piece in running.output()]) == b"0022\ngiven a  b\nerr\n"
    assert (await running.wait()).code == 0
