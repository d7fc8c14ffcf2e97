"""A session's tools over a real directory, with an approval that records every question and answers as told."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from sould.agents.base.environment import Environment
from sould.agents.base.filelocks import FileLocks
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.searching import Ripgrep, SearchLimits
from sould.agents.base.workspace import Command, RunningCommand, Workspace
from sould.agents.permissions.approval import Approval, Consent
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import Action, Mode
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rules
from sould.agents.tools import ToolCallContext, ToolReturn, Toolset
from sould.agents.tools.todo import TodoList
from sould.agents.wire.display import DisplayBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse
from soultest.daemon import PATIENCE
from soultest.toolcalling import call_tool

FILE_TOOLS = (
    "sould.agents.tools.readfile:ReadFile",
    "sould.agents.tools.writefile:WriteFile",
    "sould.agents.tools.strreplace:StrReplaceFile",
    "sould.agents.tools.globtool:Glob",
    "sould.agents.tools.grep:Grep",
    "sould.agents.tools.todo:SetTodoList",
)


class RecordedApproval(Approval):
    """Judges as in mode `ask`, keeps what is asked about and answers with `answer` (None: go ahead)."""

    def __init__(self, root: Path, answer: ToolReturn | None = None, *, mode: Mode = "ask") -> None:
        super().__init__(ask=nobody, rules=Rules, trust="trusted", mode=lambda: mode, where=PolicyContext(root=root))
        self.answer = answer
        self.asked: list[tuple[Action, str, str, tuple[DisplayBlock, ...]]] = []

    async def consent(
        self,
        call: ToolCallContext,
        action: Action,
        *,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...] = (),
        let_go: Callable[[], Awaitable[None]] | None = None,
    ) -> Consent:
        if self.judge(action).decision == "allow":
            return Consent()
        if let_go is not None:
            await let_go()
        self.asked.append((action, sender, description, display))
        return Consent(self.answer, seen=True)


async def nobody(request: ApprovalRequest) -> ApprovalResponse:
    raise AssertionError(f"nobody was to be asked: {request.description}")


async def no_commands(command: Command) -> RunningCommand:
    raise AssertionError(f"no command was to run: {command.line}")


class ToolBench:
    """Call tools by name, as the soul does."""

    def __init__(
        self,
        root: Path,
        *,
        workspace: Workspace | None = None,
        approval: Approval | None = None,
        path: str = "",
        ripgrep: Ripgrep | None = None,
        seconds: float = PATIENCE,
    ) -> None:
        self.workspace = workspace or LocalWorkspace(root, (), no_commands)
        self.approval = RecordedApproval(root) if approval is None else approval
        self.files = CallFiles(self.workspace, self.approval, FileLocks())
        self.todos = TodoList()
        self.tools = Toolset.load(
            FILE_TOOLS,
            {
                CallFiles: self.files,
                Approval: self.approval,
                Environment: Environment({"PATH": path or os.fspath(root / "no-such-directory")}, provider_keys=()),
                TodoList: self.todos,
                SearchLimits: SearchLimits(seconds=seconds),
                Ripgrep: ripgrep or Ripgrep(),
            },
        )
        self._calls = 0

    async def call(self, name: str, **arguments: object) -> ToolReturn:
        self._calls += 1
        context = ToolCallContext(f"call_{self._calls}", 1, turn_id="turn_1")
        return await call_tool(self.tools, name, arguments, context)


def output(result: ToolReturn) -> str:
    """The text output of a call that succeeded."""
    assert not result.is_error, result.message
    assert isinstance(result.output, str)
    return result.output
