"""Shell: run a command line with bash, shown while it runs, ended with everything it started.

What runs is exactly the approved text. It never runs without the guard and never leaves a process behind, however the
call ends.
"""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from pydantic import Field, JsonValue, field_validator, model_validator

from sould.agents.config import Config
from sould.agents.patience import finish, shielded
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import RunCommand
from sould.agents.privatefile import write_private
from sould.agents.terminaltext import PlainText, Updates
from sould.agents.toolapi.background import BackgroundTasks, Ended, Printed, TaskError
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ToolKind, ToolReturn
from sould.agents.workspace import Command, CommandExit, RunningCommand, WorkspaceError

MOST_FOREGROUND: Final = 300
MOST_OUTPUT: Final = 1024 * 1024 * 1024
"""Bytes after which a command is ended (F53)."""


@dataclass(frozen=True, slots=True)
class OutputDirectory:
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


class Params(ToolParams):
    """What to run, and for how long."""

    command: str = Field(min_length=1, description="The command line, run with bash in the working directory.")
    timeout: int = Field(
        default=60,
        ge=1,
        le=86_400,
        description="Seconds after which the command and all it started are ended; at most 300 unless in the background.",
    )
    run_in_background: bool = Field(
        default=False, description="Let it go on by itself; you are told when it ends, see TaskOutput."
    )
    description: str = Field(default="", description="For a background command: what it does, in a few words.")

    @field_validator("command")
    @classmethod
    def _runnable(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("a command cannot hold NUL characters")
        return command

    @model_validator(mode="after")
    def _not_too_long(self) -> "Params":
        if self.timeout > MOST_FOREGROUND and not self.run_in_background:
            raise ValueError(f"a timeout above {MOST_FOREGROUND} seconds needs `run_in_background`")
        return self


class Shell(Tool[Params]):
    """Run a command line."""

    name = "Shell"
    kind: ClassVar[ToolKind] = "execute"
    example: ClassVar[dict[str, JsonValue]] = {"command": "git status --short", "timeout": 60}
    params = Params

    def __init__(
        self,
        files: CallFiles,
        approval: Approval,
        config: Config,
        outputs: OutputDirectory | None = None,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        self._files = files
        self._approval = approval
        self._limits = config.tools
        self._outputs = outputs
        self._tasks = tasks

    def view(self, params: Params) -> CallView:
        """The command itself."""
        return CallView(title=params.command, display=(ShellBlock(command=params.command),))

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask, run, show, report."""
        root = self._files.root
        try:
            if params.run_in_background and self._tasks is not None:
                self._tasks.require_room()  # nobody is asked about what cannot begin
        except TaskError as error:
            return tool_error(error.message, brief="Not started")
        command = await self._command(params)
        where = "in the background in" if params.run_in_background else "in"
        refused = await self._approval.request(
            call,
            RunCommand(params.command, root),
            sender=self.name,
            description=f"Run a command {where} {root}",
            display=(ShellBlock(command=params.command),),
        )
        if refused is not None:
            return refused
        if params.run_in_background:
            return self._begin(params, command)
        return await self._wait_for(command, call)

    async def _command(self, params: Params) -> Command:
        """What runs, within the limits of time; one that searches unasked is kept from secrets."""
        most = self._limits.shell_max_background_s if params.run_in_background else self._limits.shell_max_timeout_s
        usual = most if params.run_in_background else self._limits.shell_timeout_s
        timeout = min(params.timeout if "timeout" in params.model_fields_set else usual, most)
        root = self._files.root
        globs = await asyncio.to_thread(self._approval.kept_from, RunCommand(params.command, root))
        variables: dict[str, str] = {}
        if globs and self._outputs is not None:
            variables["RIPGREP_CONFIG_PATH"] = str(await asyncio.to_thread(self._outputs.search_settings, globs))
        return Command(params.command, root, timeout, variables)

    def _begin(self, params: Params, command: Command) -> ToolReturn:
        if self._tasks is None:
            return tool_error("Nothing can be run in the background here.", brief="Not started")
        try:
            record = self._tasks.begin(
                "shell", params.description or params.command, lambda printed: self._go_on(command, printed)
            )
        except TaskError as error:
            return tool_error(error.message, brief="Not started")
        return tool_ok(
            message=f"Running in the background as {record.id}. You are told when it ends.", display=(record.block,)
        )

    async def _go_on(self, command: Command, printed: Printed) -> Ended:
        try:
            running = await self._start(command)
        except WorkspaceError as error:
            return Ended("failed", str(error))
        text = PlainText()
        try:
            async for data in running.output():
                printed.write(text.feed(data))
            printed.write(text.finish())
            ended = await running.wait()
        except BaseException:
            await finish(running.kill())
            raise
        if ended.timed_out:
            return Ended("timed_out", f"Ended by sould after {command.timeout:g} seconds.")
        if ended.code is None:
            return Ended("failed", f"Ended by signal {_signal_name(ended.signal)}.")
        return Ended("completed" if ended.code == 0 else "failed", f"Exit code {ended.code}.{_left_behind(ended)}")

    async def _wait_for(self, command: Command, call: ToolCallContext) -> ToolReturn:
        try:
            running = await self._start(command)
        except WorkspaceError as error:
            return tool_error(str(error), brief="Not started")
        builder = ToolResultBuilder(
            spill=self._outputs.new_file() if self._outputs is not None else None,
            limit=self._limits.output_chars,
            line_limit=self._limits.line_chars,
        )
        try:
            flooded = await _follow(running, builder, call)
            ended = await running.wait()
        except BaseException:
            await finish(running.kill())
            call.printed(builder.finish()[0])
            raise
        return _report(builder, ended, command.timeout, flooded=flooded)

    async def _start(self, command: Command) -> RunningCommand:
        """The command, started. When it is cancelled meanwhile, nothing of it runs afterwards."""
        started: list[RunningCommand] = []

        async def start() -> None:
            started.append(await self._files.run(command))

        try:
            await shielded(start())
        except asyncio.CancelledError:
            for running in started:
                await finish(running.kill())
            raise
        return started[0]


async def _follow(running: RunningCommand, builder: ToolResultBuilder, call: ToolCallContext) -> bool:
    """Take the output to its end. Whether it was too much, so that the command was ended."""
    text, updates, received = PlainText(), Updates(call.stream), 0
    flooded = False

    def take(piece: str) -> None:
        builder.write(piece)
        updates.write(piece)

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
        failure = f"Ended by sould after {timeout:g} seconds, with everything it had started. Allow more time, or do less at once."
        brief = f"Timed out after {timeout:g} s"
    elif ended.code is None:
        failure = brief = f"Ended by signal {_signal_name(ended.signal)}."
    elif ended.code != 0:
        failure = brief = f"Exit code {ended.code}."
    else:
        result = builder.ok(f"Exit code 0.{_left_behind(ended)}{'' if builder.characters else ' No output.'}")
        return result.model_copy(update={"extras": extras})
    return builder.error(failure + _left_behind(ended), brief=brief).model_copy(update={"extras": extras})


def _left_behind(ended: CommandExit) -> str:
    if not ended.strays:
        return ""
    return f" Ended with it, because nothing outlives its call: processes it left running ({ended.strays})."


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return str(number)
