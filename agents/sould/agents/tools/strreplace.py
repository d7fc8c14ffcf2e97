"""StrReplaceFile: exact replacements in one file, all or none, over exactly the text they were computed from."""

import asyncio
from typing import ClassVar

from pydantic import ConfigDict, Field, JsonValue, model_validator

from sould.agents.base.parsed import Parsed
from sould.agents.base.workspace import ResolvedPath, TextFile
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Foreseen, Tool, ToolCallContext, ToolParams, tool_error
from sould.agents.tools.edits import Proposal, edit_file
from sould.agents.tools.replacing import EditError, replace_exactly
from sould.agents.wire.messages import ToolKind, ToolReturn


class Edit(Parsed):
    """One replacement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    old: str = Field(min_length=1, description="The exact text to replace; unique in the file unless replace_all.")
    new: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")

    @model_validator(mode="after")
    def _differs(self) -> "Edit":
        if self.old == self.new:
            raise ValueError("`old` and `new` are the same text")
        return self


class Params(ToolParams):
    """What to replace."""

    path: str = Field(min_length=1, description="The file, relative to the working directory or absolute.")
    edit: Edit | list[Edit] = Field(description="One edit, or several that are applied in order.")

    @property
    def edits(self) -> list[Edit]:
        """The edits, in order."""
        return self.edit if isinstance(self.edit, list) else [self.edit]


class StrReplaceFile(Tool[Params]):
    """Replace exact text in a file."""

    name = "StrReplaceFile"
    title = "Edit a file"
    kind: ClassVar[ToolKind] = "edit"
    example: ClassVar[dict[str, JsonValue]] = {
        "path": "src/main.py",
        "edit": {"old": "def greet():\n    pass", "new": "def greet():\n    print('hello')"},
    }
    params = Params

    def __init__(self, files: CallFiles, approval: Approval) -> None:
        self._files = files
        self._approval = approval

    def view(self, params: Params) -> CallView:
        """`Edit src/a.py`."""
        title, locations = self._files.paths.named(params.path)
        return CallView(title=f"Edit {title}", locations=locations)

    def foreseen(self, params: Params) -> Foreseen:
        """The file with all edits, as far as they fit."""

        def change(before: str | None) -> str | None:
            try:
                return apply_all(before, params.edits)[0] if before is not None else None
            except EditError:
                return None

        return Foreseen(self._files.paths.meant(params.path), change)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Compute the new text, ask with the whole difference, write."""
        path = self._files.paths.meant(params.path)

        async def propose(before: TextFile | None) -> Proposal | ToolReturn:
            return await self._proposal(path, before, params.edits)

        return await edit_file(path, propose, self._files, self._approval, call)

    async def _proposal(self, path: ResolvedPath, before: TextFile | None, edits: list[Edit]) -> Proposal | ToolReturn:
        if before is None:
            raise await self._files.missing(path, "a file")
        try:
            text, count = await asyncio.to_thread(apply_all, before.text, edits)
        except EditError as error:
            return tool_error(str(error), brief="No unique match")
        name = self._files.paths.shown(path.path)
        if text == before.text:
            return tool_error(f"The edits leave {name} as it is; nothing was written.", brief="No change")
        done = f"Edited {name} ({count} replacement{'' if count == 1 else 's'})."
        return Proposal(text, done)


def apply_all(text: str, edits: list[Edit]) -> tuple[str, int]:
    """All edits in order, and how many places they changed. Raises EditError, naming the edit when there are several."""
    total = 0
    for number, edit in enumerate(edits, 1):
        try:
            text, count = replace_exactly(text, edit.old, edit.new, replace_all=edit.replace_all)
        except EditError as error:
            which = f"Edit {number} of {len(edits)}, after those before it: " if len(edits) > 1 else ""
            raise EditError(f"{which}{error}") from None
        total += count
    return text, total
