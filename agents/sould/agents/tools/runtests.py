"""RunTests: run the project's tests by its own command, shown while they run, and say how many passed and failed.

The command is found in the project's files or given, and judged, run and ended as the same line in Shell would be.
"""

from typing import ClassVar

from pydantic import Field, JsonValue, field_validator, model_validator

from sould.agents.base.config import Config
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error
from sould.agents.tools.commands import Commands, OutputDirectory, rewritten
from sould.agents.tools.testcommand import NoTestCommandError, Wanted, find_command
from sould.agents.tools.testcounts import Counts, counts_in
from sould.agents.wire.display import BriefBlock, ShellBlock
from sould.agents.wire.messages import ToolKind, ToolReturn


class Params(ToolParams):
    """Which tests, and how."""

    path: str = Field(default="", description="A file or directory.")
    filter: str = Field(default="", description="Names, as the runner takes them.")
    command: str = Field(default="", description="Run this instead.")

    @field_validator("path", "filter", "command")
    @classmethod
    def _runnable(cls, text: str) -> str:
        if "\0" in text:
            raise ValueError("a command cannot hold NUL characters")
        return text

    @field_validator("path", "filter")
    @classmethod
    def _no_option(cls, text: str) -> str:
        if text.startswith("-"):
            raise ValueError("it cannot begin with a dash; options go into `command`")
        return text

    @model_validator(mode="after")
    def _one_way(self) -> "Params":
        if self.command and (self.path or self.filter):
            raise ValueError("`command` is run as it is: name path and filter in it, or leave it out")
        return self


class RunTests(Tool[Params]):
    """Run the tests."""

    name = "RunTests"
    title = "Run the tests"
    kind: ClassVar[ToolKind] = "execute"
    example: ClassVar[dict[str, JsonValue]] = {"path": "tests/test_parser.py"}
    params = Params

    def __init__(
        self, files: CallFiles, approval: Approval, config: Config, outputs: OutputDirectory | None = None
    ) -> None:
        self._files = files
        self._most = config.tools.shell_max_timeout_s
        self._commands = Commands(files, approval, config.tools, outputs)

    def view(self, params: Params) -> CallView:
        """What is tested, or the command where it is given."""
        if params.command:
            return CallView(title=params.command, display=(ShellBlock(command=params.command),))
        which = " ".join(word for word in (params.path, params.filter) if word)
        return CallView(title=f"Run the tests: {which}" if which else "Run the tests")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Find the command, ask, run, count."""
        try:
            line = params.command or await find_command(self._files, Wanted(params.path, params.filter))
        except NoTestCommandError as error:
            return tool_error(str(error), brief="No test command")
        command = await self._commands.prepare(line, self._most)
        consent = await self._commands.ask(line, call, sender=self.name)
        if consent.refused is not None:
            return consent.refused
        written = consent.text is not None and consent.text != line
        if consent.text is not None and written:
            line = consent.text
            command = await self._commands.prepare(line, self._most)
        if written or not params.command:
            call.stream(f"$ {line}\n")
        result = _told(line, await self._commands.run(command, call))
        return rewritten(result, line) if written else result


def _told(line: str, result: ToolReturn) -> ToolReturn:
    """The result of the command, with what was run and what the tests came to."""
    counts = counts_in(result.output) if isinstance(result.output, str) else None
    said = f"{counts}. " if counts is not None else ""
    return result.model_copy(
        update={
            "message": f"`{line}`: {said}{result.message}",
            "display": (BriefBlock(text=str(counts)),) if result.is_error and _says_why(counts) else result.display,
            "extras": {**(result.extras or {}), "command": line, **_numbers(counts)},
        }
    )


def _says_why(counts: Counts | None) -> bool:
    return counts is not None and counts.failed > 0


def _numbers(counts: Counts | None) -> dict[str, JsonValue]:
    if counts is None or counts.unit:
        return {}
    return {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped}
