"""Shell: run a command line with bash, shown while it runs, ended with everything it started.

What runs is exactly the approved text. It never runs without the guard and never leaves a process behind, however the
call ends.
"""

from functools import partial
from typing import ClassVar

from pydantic import Field, JsonValue, field_validator, model_validator

from sould.agents.base.config import Config
from sould.agents.base.tasks import finish
from sould.agents.base.terminaltext import PlainText
from sould.agents.base.workspace import Command, WorkspaceError
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.background import BackgroundTasks, Printed, TaskEnded, TaskError
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.tools.commands import (
    MOST_FOREGROUND,
    Commands,
    OutputDirectory,
    end,
    left_behind,
    rewritten,
    signal_name,
)
from sould.agents.wire.display import ShellBlock
from sould.agents.wire.messages import ToolKind, ToolReturn


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
    title = "Run a command"
    kind: ClassVar[ToolKind] = "execute"
    is_command = True
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
        self._limits = config.tools
        self._commands = Commands(files, approval, config.tools, outputs)
        self._tasks = tasks

    def view(self, params: Params) -> CallView:
        """The command itself."""
        return CallView(title=params.command, display=(ShellBlock(command=params.command),))

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask, run, show, report."""
        try:
            if params.run_in_background and self._tasks is not None:
                self._tasks.require_room()  # nobody is asked about what cannot begin
        except TaskError as error:
            return tool_error(error.message, brief="Not started")
        command = await self._commands.prepare(params.command, self._timeout(params))
        where = "in the background in" if params.run_in_background else "in"
        consent = await self._commands.ask(params.command, call, sender=self.name, where=where)
        if consent.refused is not None:
            return consent.refused
        if consent.text is None or consent.text == params.command:
            return await self._run(params, command, call)
        params = params.model_copy(update={"command": consent.text})
        command = await self._commands.prepare(params.command, self._timeout(params))
        call.stream(f"$ {params.command}\n")
        return rewritten(await self._run(params, command, call), params.command)

    async def _run(self, params: Params, command: Command, call: ToolCallContext) -> ToolReturn:
        return self._begin(params, command) if params.run_in_background else await self._commands.run(command, call)

    def _timeout(self, params: Params) -> float:
        most = self._limits.shell_max_background_s if params.run_in_background else self._limits.shell_max_timeout_s
        usual = most if params.run_in_background else self._limits.shell_timeout_s
        return min(params.timeout if "timeout" in params.model_fields_set else usual, most)

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

    async def _go_on(self, command: Command, printed: Printed) -> TaskEnded:
        cut_off = partial(end, write=printed.write)
        try:
            running = await self._commands.start(command, cut_off)
        except WorkspaceError as error:
            return TaskEnded("failed", str(error))
        text = PlainText()
        try:
            async for data in running.output():
                printed.write(text.feed(data))
            printed.write(text.finish())
            ended = await running.wait()
        except BaseException:
            await finish(cut_off(running))
            raise
        if ended.timed_out:
            return TaskEnded("timed_out", f"Ended by sould after {command.timeout:g} s.")
        if ended.code is None:
            return TaskEnded("failed", f"Ended by signal {signal_name(ended.signal)}.")
        return TaskEnded("completed" if ended.code == 0 else "failed", f"Exit code {ended.code}.{left_behind(ended)}")
