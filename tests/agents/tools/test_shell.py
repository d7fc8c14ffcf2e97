"""The Shell tool over a real guard: what the model gets, what people see, what is left behind."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from sould.agents.base.config import Config, ToolLimits
from sould.agents.base.filelocks import FileLocks
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.terminaltext import UPDATE_SIZE, LastFrames, PlainText, Updates
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.sessions.workfiles import run_command
from sould.agents.toolapi.base import CallReporter, ToolCallContext
from sould.agents.tools.commands import OutputDirectory
from sould.agents.tools.shell import Params, Shell
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, ToolReturn
from soultest.daemon import until
from soultest.policy import approval_of, environment_of, place_of
from soultest.processes import MARK, marked, memory


@dataclass
class Bench(CallReporter):
    shell: Shell
    mark: str
    seen: list[str] = field(default_factory=list[str])
    shown: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    outputs: Path = Path()
    kept: str = ""

    def printed(self, text: str) -> None:
        self.kept = text

    def stream(self, text: str) -> None:
        self.seen.append(text)
        self.shown.set()

    async def run(self, command: str, timeout: int | None = None) -> ToolReturn:
        params = Params(command=command) if timeout is None else Params(command=command, timeout=timeout)
        return await self.shell.run(params, ToolCallContext("call-1", 1, self))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    guard, mark = ProcessGuard(), secrets.token_hex(8)
    root = tmp_path / "work"
    root.mkdir()
    environment = environment_of(tmp_path, os.environ["PATH"], **{MARK: mark})
    made: list[Bench] = []

    async def approve(request: ApprovalRequest) -> ApprovalResponse:
        made[0].asked.append(request)
        answer = "reject" if "forbidden" in str(request.display) else "approve"
        return ApprovalResponse(request_id=request.id, response=answer)

    approval = approval_of(approve, place_of(root, environment))
    workspace = LocalWorkspace(root, (), partial(run_command, guard, environment))
    outputs = OutputDirectory(tmp_path / "outputs")
    config = Config(tools=ToolLimits(shell_timeout_s=1))
    made.append(
        Bench(Shell(CallFiles(workspace, approval, FileLocks()), approval, config, outputs), mark, outputs=outputs.path)
    )
    yield made[0]
    await guard.aclose()
    assert marked(mark) == []


async def test_the_model_gets_output_and_exit_code(bench: Bench) -> None:
    result = await bench.run("echo out; echo err >&2; pwd")
    assert not result.is_error
    assert result.output == f"out\nerr\n{bench.outputs.parent / 'work'}\n"
    assert result.message == "Exit code 0."
    assert result.extras == {"exit_code": 0, "signal": None, "timed_out": False}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "Exit code 0. No output."),
        ("exit 3", "Exit code 3."),
        ("kill -SEGV $$", "Ended by signal SIGSEGV."),
        (
            "sleep 1000 >/dev/null & echo a",
            "Exit code 0. Ended with it, because nothing outlives its call: processes it left running (1).",
        ),
    ],
)
async def test_the_message_says_how_it_ended(bench: Bench, command: str, message: str) -> None:
    assert (await bench.run(command)).message == message


async def test_a_question_shows_the_exact_command_and_a_refusal_runs_nothing(bench: Bench) -> None:
    result = await bench.run("touch forbidden")
    assert result.is_error
    assert result.extras == {"rejected": True, "feedback": ""}
    assert not (bench.outputs.parent / "work" / "forbidden").exists()
    (asked,) = bench.asked
    assert (asked.action, asked.sender, asked.display) == (
        "run command",
        "Shell",
        (ShellBlock(command="touch forbidden"),),
    )


async def test_a_harmless_command_asks_nobody(bench: Bench) -> None:
    await bench.run("ls -la")
    assert bench.asked == []


async def test_output_is_shown_while_the_command_runs(bench: Bench) -> None:
    gate = bench.outputs.parent / "gate"
    os.mkfifo(gate)
    running = asyncio.ensure_future(bench.run(f"echo first; cat {gate}"))
    await bench.shown.wait()
    assert bench.seen == ["first\n"]
    await asyncio.to_thread(gate.write_text, "second\n")
    assert (await running).output == "first\nsecond\n"
    assert "".join(bench.seen) == "first\nsecond\n"


async def test_a_command_over_its_time_is_ended_with_its_output_kept(bench: Bench) -> None:
    result = await bench.run("echo begun; (setsid sleep 1000 &); sleep 1000")
    assert result.is_error
    assert result.output == "begun\n"
    assert result.message.startswith("Ended by sould after 1 s")
    assert result.extras is not None
    assert result.extras["timed_out"] is True


async def test_cancelling_the_call_ends_the_tree_before_it_returns(bench: Bench) -> None:
    call = asyncio.ensure_future(
        bench.run("trap 'echo bye' TERM; (setsid sleep 1000 &); echo ready; sleep 1000 & wait; sleep 1000")
    )
    await bench.shown.wait()
    assert marked(bench.mark)
    call.cancel()
    await asyncio.sleep(0)
    call.cancel()  # an impatient user
    with pytest.raises(asyncio.CancelledError):
        await call
    assert marked(bench.mark) == []


async def test_what_was_printed_and_not_yet_read_is_kept_when_the_call_is_cancelled(bench: Bench) -> None:
    marker = bench.outputs.parent / "work" / "printed"
    call = asyncio.ensure_future(bench.run(f"echo first; sleep 0.1; echo second; touch {marker}; sleep 1000"))
    await bench.shown.wait()
    until(marker.exists)  # nothing else runs in this loop meanwhile, so nobody reads
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert bench.kept == "first\nsecond\n"


async def test_cancelling_while_it_starts_leaves_nothing(bench: Bench) -> None:
    for patience in range(6):
        call = asyncio.ensure_future(bench.run("sleep 1000"))
        for _ in range(patience):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        assert marked(bench.mark) == []


async def test_a_command_that_cannot_start_is_a_result(bench: Bench) -> None:
    (bench.outputs.parent / "work").rmdir()
    result = await bench.run("true")
    assert result.is_error
    assert "cannot be entered" in result.message


async def test_long_output_is_cut_for_the_model_and_kept_in_a_file(bench: Bench) -> None:
    result = await bench.run("seq 100000")
    assert isinstance(result.output, str)
    assert len(result.output) <= 50_000
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("100000\n")
    (kept,) = bench.outputs.iterdir()
    assert str(kept) in result.message
    assert kept.read_text().splitlines()[50_000] == "50001"


async def test_a_flood_is_shown_in_small_updates_and_bounded_memory(bench: Bench) -> None:
    await bench.run("true")
    before = memory()
    result = await bench.run("head -c 50000000 /dev/zero | tr '\\0' A", timeout=60)
    assert not result.is_error
    assert memory() - before < 32 * 1024 * 1024
    assert max(map(len, bench.seen)) <= UPDATE_SIZE + 10


def test_the_view_is_the_command(bench: Bench) -> None:
    assert bench.shell.view(Params(command="make test")).title == "make test"


def test_arguments_are_checked() -> None:
    for bad in ({"command": ""}, {"command": "a\0b"}, {"command": "a", "timeout": 301}, {"command": "a", "timeout": 0}):
        with pytest.raises(ValueError, match="validation error"):
            Params.model_validate(bad)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[1;31mred\x1b[0m\x1b[2J", "red"),
        (b"\x1b]0;title\x07a\x1b]52;c;Zm9v\x1b\\b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "ablink"),
        (b'\x1bP$q"p\x1b\\a\x1bP0;1q#0~\x1b\\b', "ab"),
        (b"a\x1b(Bb\x1bcc\x1b7d", "abcd"),
        (b"10%\r20%\r\n30%\r", "10%\n20%\n30%\n"),
        (b"a\x00\x07\x08b\x7f\xc2\x9bc", "ab"),
        (b"\xe2\x82\xac \xff \xe2\x82", "\u20ac \ufffd \ufffd"),
        (b"tail\x1b[", "tail["),
        (b"\x1b", ""),
    ],
)
def test_output_is_plain_text_however_it_is_cut(raw: bytes, text: str) -> None:
    for size in (1, 2, 3, len(raw)):
        plain = PlainText()
        pieces = [plain.feed(raw[at : at + size]) for at in range(0, len(raw), size)]
        assert "".join([*pieces, plain.finish()]) == text


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"\r1%\r10%\r100%\ndone\n", "100%\ndone\n"),
        (b"get: 1%\rget: 100%\r\ndone\r\n\r\nend\r", "get: 1%\nget: 100%\ndone\n\nend"),
        (b"\rlong line\rXY\n", "XYng line\n"),
        (b"\rlong line\r\x1b[KXY\n\rlong line\rXY\x1b[0K\n", "XY\nXY\n"),
        (b"\r1%\r\x1b[2K100%\x1b[1m ok\x1b[0m", "100% ok"),
        (b"plain\vtext\n", "plaintext\n"),
    ],
)
def test_of_a_line_that_is_written_over_the_model_gets_the_last_state_however_it_is_cut(raw: bytes, lines: str) -> None:
    for size in (1, 2, 3, len(raw)):
        text, last = PlainText(frames=True), LastFrames()
        pieces = [last.feed(text.feed(raw[at : at + size])) for at in range(0, len(raw), size)]
        assert "".join([*pieces, last.feed(text.finish()), last.finish()]) == lines


async def test_a_progress_bar_is_shown_as_it_goes_and_the_model_gets_its_end(bench: Bench) -> None:
    result = await bench.run(r"for i in $(seq 3000); do printf '\r%d%% of 3000' $i; done; printf '\ndone\n'")
    assert result.output == "3000% of 3000\ndone\n"
    assert "".join(bench.seen).startswith("\n1% of 3000\n2% of 3000\n")


async def test_updates_come_at_once_then_gathered_and_none_is_lost() -> None:
    seen: list[str] = []
    updates = Updates(seen.append)
    for number in range(1000):
        updates.write(f"{number}\n")
    assert seen == ["0\n"]
    updates.close()
    assert "".join(seen) == "".join(f"{number}\n" for number in range(1000))
    assert len(seen) == 2
