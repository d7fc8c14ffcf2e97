"""Running a command of a call to its end: asked about, shown while it runs, reported to the model within its limits.

For every tool that runs one. What runs is exactly the approved text. It never runs without the guard and never leaves a
process behind, however the call ends.
"""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct
from pydantic import JsonValue

from sould.agents.base.config import ToolLimits
from sould.agents.base.privatefile import write_private
from sould.agents.base.tasks import finish, shielded
from sould.agents.base.terminaltext import LastFrames, PlainText, Updates, each_frame
from sould.agents.base.workspace import Command, CommandExit, RunningCommand, WorkspaceError
from sould.agents.permissions.approval import Approval, Consent
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import RunCommand
from sould.agents.toolapi.base import ToolCallContext, tool_error
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ToolReturn

MOST_FOREGROUND: Final = 300
"""Seconds that a call may ask for."""
MOST_OUTPUT: Final = 1024 * 1024 * 1024
"""Bytes after which a command is ended."""
MOST_UNREAD: Final = 1024 * 1024
"""Bytes that are taken of what nobody had read of a command that is cut off: as much as a user's pipe can hold."""


CutOff: TypeAlias = Callable[[RunningCommand], Coroutine[Any, Any, None]]
"""Ends a command whose caller was cancelled, and keeps what it had printed."""


class OutputDirectory(Struct, frozen=True):
    """Where outputs too long for the model are kept, removed with the session. Injectable; without it they are cut only."""

    path: Path

    def new_file(self) -> Path:
        """A name nobody has used. Where the directory cannot be made the output is not kept, which is said with it."""
        with contextlib.suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.path / f"output-{secrets.token_hex(4)}.txt"

    def search_settings(self, globs: Sequence[str]) -> Path:
        """A file of settings for ripgrep that keeps it from what these globs name."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.path / "ripgreprc"
        write_private(path, "".join(f"--iglob=!{'**/' if '/' in glob else ''}{glob}\n" for glob in globs).encode())
        return path


class Commands(Struct, frozen=True):
    """The commands of one tool. Without `outputs` a long output is cut only."""

    files: CallFiles
    approval: Approval
    limits: ToolLimits
    outputs: OutputDirectory | None

    async def prepare(self, line: str, timeout: float) -> Command:
        """What runs, before it is asked about; one that searches unasked is kept from secrets."""
        root = self.files.root
        globs = await self.approval.kept_from(RunCommand(line, root))
        variables: dict[str, str] = {}
        if globs and self.outputs is not None:
            variables["RIPGREP_CONFIG_PATH"] = str(await asyncio.to_thread(self.outputs.search_settings, globs))
        return Command(line, root, timeout, variables)

    async def ask(self, line: str, call: ToolCallContext, *, sender: str, where: str = "in") -> Consent:
        """Ask about exactly this line, where that is needed. What runs is its `text` where it has one."""
        root = self.files.root
        return await self.approval.consent(
            call,
            RunCommand(line, root),
            sender=sender,
            description=f"Run a command {where} {root}",
            display=(ShellBlock(command=line),),
        )

    async def run(self, command: Command, call: ToolCallContext) -> ToolReturn:
        """Run an approved command to its end, shown as it prints: its output, and how it ended."""
        builder = ToolResultBuilder(
            spill=self.outputs.new_file() if self.outputs is not None else None,
            limit=self.limits.output_chars,
            line_limit=self.limits.line_chars,
        )

        async def cut_off(running: RunningCommand) -> None:
            await end(running, builder.write)
            call.printed(builder.finish()[0])

        try:
            running = await self.start(command, cut_off)
        except WorkspaceError as error:
            return tool_error(str(error), brief="Not started")
        try:
            flooded = await _follow(running, builder, call)
            ended = await running.wait()
        except BaseException:
            await finish(cut_off(running))
            raise
        return _report(builder, ended, command.timeout, flooded=flooded)

    async def start(self, command: Command, cut_off: CutOff) -> RunningCommand:
        """Start an approved command. Whoever is cancelled meanwhile leaves nothing that runs: `cut_off` ends it.

        Raises:
            WorkspaceError: it cannot be started.
        """
        started: list[RunningCommand] = []

        async def start() -> None:
            started.append(await self.files.run(command))

        try:
            await shielded(start())
        except asyncio.CancelledError:
            for running in started:
                await finish(cut_off(running))
            raise
        return started[0]


async def end(running: RunningCommand, write: Callable[[str], object]) -> None:
    """End a command whose output nobody reads any more, and `write` what it had printed and nobody had read."""
    text, left = PlainText(), MOST_UNREAD
    async with asyncio.TaskGroup() as group:
        group.create_task(running.kill())
        # Reading begins before that task runs: `kill` drops output that nobody reads.
        async for data in running.output():
            if left > 0:
                write(text.feed(data))
            left -= len(data)
        write(text.finish())


async def _follow(running: RunningCommand, builder: ToolResultBuilder, call: ToolCallContext) -> bool:
    """Take the output to its end. Whether it was too much, so that the command was ended."""
    text, lines, updates, received = PlainText(frames=True), LastFrames(), Updates(call.stream), 0
    flooded = False

    def take(piece: str) -> None:
        builder.write(lines.feed(piece))
        updates.write(each_frame(piece))

    try:
        async for data in running.output():
            received += len(data)
            if flooded:
                continue
            take(text.feed(data))
            if received > MOST_OUTPUT:
                flooded = True
                await running.kill()
    finally:
        take(text.finish())
        builder.write(lines.finish())
        updates.close()
    return flooded


def _report(builder: ToolResultBuilder, ended: CommandExit, timeout: float, *, flooded: bool) -> ToolReturn:
    extras: dict[str, JsonValue] = {"exit_code": ended.code, "signal": ended.signal, "timed_out": ended.timed_out}
    if flooded:
        failure, brief = (
            "Ended by sould: it wrote more than 1 GiB. Write to a file, or ask for less.",
            "Too much output",
        )
    elif ended.timed_out:
        failure = (
            f"Ended by sould after {timeout:g} s, with everything it had started. Allow more time, or do less at once."
        )
        brief = f"Timed out after {timeout:g} s"
    elif ended.code is None:
        failure = brief = f"Ended by signal {signal_name(ended.signal)}."
    elif ended.code != 0:
        failure = brief = f"Exit code {ended.code}."
    else:
        result = builder.ok(f"Exit code 0.{left_behind(ended)}{'' if builder.characters else ' No output.'}")
        return result.model_copy(update={"extras": extras})
    return builder.error(failure + left_behind(ended), brief=brief).model_copy(update={"extras": extras})


def rewritten(result: ToolReturn, line: str) -> ToolReturn:
    """The result of a command that its user wrote anew before allowing it, for the model that asked for another one."""
    return result.model_copy(update={"message": f"The user changed the command to `{line}`. {result.message}".strip()})


def left_behind(ended: CommandExit) -> str:
    """A sentence about processes that a command left running; "" when there were none."""
    if not ended.strays:
        return ""
    return f" Ended with it, because nothing outlives its call: processes it left running ({ended.strays})."


def signal_name(number: int | None) -> str:
    """`SIGKILL` for 9."""
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return str(number)
