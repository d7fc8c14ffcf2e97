"""The guard: starting, errors, input, the environment, closing."""

import asyncio
import os
import resource
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sould.agents.base.environment import Environment
from sould.agents.base.process.guard import CommandStartError, ProcessGuard
from sould.agents.base.workspace import Command
from sould.agents.sessions.workfiles import run_command
from soultest.processes import MARK, descriptors, marked

REACH = ("--inh-caps", "+dac_override", "--ambient-caps", "+dac_override")
"""Another user may not reach this interpreter; with this it does, and limits hold all the same."""


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
        pending = task.cancel()  # False where the command was started already
        await asyncio.wait([task])
        assert task.cancelled() is pending
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


async def test_no_free_descriptor_is_a_clear_error_and_passes(guard: ProcessGuard, tmp_path: Path) -> None:
    await (await guard.start(["/bin/true"], tmp_path, {})).wait()
    highest = os.open("/", os.O_RDONLY)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(highest) for _ in range(8)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
        while True:
            try:
                taken.append(os.dup(highest))
            except OSError:
                break
        with pytest.raises(CommandStartError, match="Too many open files"):
            await guard.start(["/bin/true"], tmp_path, {})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in (highest, *taken):
            os.close(descriptor)
    assert (await (await guard.start(["/bin/true"], tmp_path, {})).wait()).code == 0


@pytest.mark.needs_root
async def test_no_room_for_a_process_is_a_clear_error_and_passes(tmp_path: Path) -> None:
    script = Path(__file__).with_name("crowded.py")
    ran = await asyncio.create_subprocess_exec(
        *("setpriv", "--reuid", "65533", "--clear-groups", *REACH, sys.executable, "-c", script.read_text()),
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"], "HOME": "/"},
        cwd="/",
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await ran.communicate()
    said, code = output.decode().splitlines()
    assert "the system has no room for another process (Resource temporarily unavailable)" in said
    assert code == "0"


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
    command = Command("umask; echo \"$WORD\" 'a  b'; echo err >&2", tmp_path, timeout=10)
    running = await run_command(guard, Environment(session, provider_keys=(), umask=0o027), command)
    assert b"".join([piece async for piece in running.output()]) == b"0027\ngiven a  b\nerr\n"
    assert (await running.wait()).code == 0


async def test_standard_error_can_be_kept_apart(guard: ProcessGuard, tmp_path: Path) -> None:
    script = "read line; echo $line; echo trouble >&2"
    argv = ["/bin/sh", "-c", script]
    process = await guard.start(argv, tmp_path, {"PATH": "/usr/bin:/bin"}, stdin=True, errors=True)
    await process.send(b"hello\n")

    async def all_of(chunks: AsyncIterator[bytes]) -> bytes:
        return b"".join([chunk async for chunk in chunks])

    said, complained, ended = await asyncio.gather(all_of(process.output()), all_of(process.errors()), process.wait())
    assert (said, complained) == (b"hello\n", b"trouble\n")
    assert ended.code == 0
