"""WriteFile: create, replace or extend a whole file, over exactly the text it had when the question was asked."""

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from sould.agents.base.text import plural
from sould.agents.base.workspace import TextFile
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Foreseen, Tool, ToolCallContext, ToolParams, tool_ok
from sould.agents.tools.edits import Proposal, edit_file
from sould.agents.tools.lineends import BOM, dominant, with_line_ends
from sould.agents.wire.messages import ToolKind, ToolReturn


class Params(ToolParams):
    """What to write."""

    path: str = Field(min_length=1, description="The file, relative to the working directory or absolute.")
    content: str = Field(description="The text: the whole file, or with mode `append` what is added at its end.")
    mode: Literal["overwrite", "append"] = Field(
        default="overwrite", description="`overwrite` replaces the whole file, `append` adds at its end."
    )


class WriteFile(Tool[Params]):
    """Write a whole file."""

    name = "WriteFile"
    title = "Write a file"
    kind: ClassVar[ToolKind] = "edit"
    example: ClassVar[dict[str, JsonValue]] = {"path": "notes.md", "content": "# Notes\n", "mode": "overwrite"}
    params = Params

    def __init__(self, files: CallFiles, approval: Approval) -> None:
        self._files = files
        self._approval = approval

    def view(self, params: Params) -> CallView:
        """`Write src/a.py`."""
        title, locations = self._files.paths.named(params.path)
        return CallView(title=f"{'Append to' if params.mode == 'append' else 'Write'} {title}", locations=locations)

    def foreseen(self, params: Params) -> Foreseen:
        """The whole file."""
        return Foreseen(
            self._files.paths.meant(params.path), lambda before: new_text(before, params.content, params.mode)
        )

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Read what is there, ask with the whole difference, write."""
        path = self._files.paths.meant(params.path)
        name = self._files.paths.shown(path.path)

        async def propose(before: TextFile | None) -> Proposal | ToolReturn:
            text = new_text(before.text if before is not None else None, params.content, params.mode)
            if before is not None and before.text == text:
                return tool_ok(message=f"{name} already holds exactly this; nothing was written.")
            done = f"{'Created' if before is None else 'Wrote'} {name} ({plural(len(text.splitlines()), 'line')})."
            return Proposal(text, done)

        return await edit_file(path, propose, self._files, self._approval, call)


def new_text(old: str | None, content: str, mode: Literal["overwrite", "append"]) -> str:
    """The file's next text: `content` in the line ends and with the byte order mark that `old` has."""
    if not old:
        return content
    body = with_line_ends(content, dominant(old)) if "\r" not in content else content
    if mode == "append":
        return old + body
    return BOM + body if old.startswith(BOM) and not body.startswith(BOM) else body
