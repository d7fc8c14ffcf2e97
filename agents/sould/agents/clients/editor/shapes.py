"""What clients say and are asked below `_sould/editor` (docs/editor-clients.md). Values only; docs/schemas/editor is made of them."""

from typing import Annotated, Any

from pydantic import Field

from sould.agents.base.shape import Shape
from sould.agents.clients.params import Inbound, Items, Lenient
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.site import Sharing

MOST_TOOLS = 64
MOST_FOLDERS = 100
MOST_OPEN = 500
"""Files; further ones are not kept."""
LONGEST_SELECTION = 8_000
"""Characters that are kept of a selection."""


class EditorCall(Shape, frozen=True):
    """`_sould/editor/call`: do what a tool wants, in the project of `root`.

    `arguments`: as the catalogue has them, checked; paths are absolute, and what they name may be looked at. `at`: where the call's
    anchor points in the text that the user sees, whose sha256 is `digest`.
    """

    tool: str
    arguments: dict[str, Any]
    root: str
    directories: tuple[str, ...] = ()
    at: Position | None = None
    digest: str = ""
    session_id: str = ""


class OfferedTool(Shape, frozen=True):
    """A tool as a model is told of it. `does`: `read`, `show`, `write` or `run`."""

    name: str
    description: str
    does: str
    schema: dict[str, Any]


class OfferedTools(Shape, frozen=True):
    """The answer to `tools`."""

    tools: tuple[OfferedTool, ...]


class RunError(Shape, frozen=True):
    """Why a call came to nothing; `message` has the candidates, if there are any."""

    code: str
    message: str


class RunAnswer(Shape, frozen=True):
    """The answer to `run`: `data` and `meta`, or `error`. `partial`: not all was written."""

    data: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    error: RunError | None = None
    partial: bool = False


class Forgotten(Shape, frozen=True):
    """`_sould/editor/forgotten`: say `_sould/editor/state` again."""


class Context(Shape, frozen=True):
    """Whether agents may know what the user looks at: `ask` asks, each time an agent wants to."""

    sharing: Sharing


class ToolsParams(Inbound):
    """`_sould/editor/tools`: those that somebody can serve in the project of the directory `cwd`."""

    cwd: str


class RunParams(Inbound):
    """`_sould/editor/run`: call a tool in the project of the directory `cwd`, for the agent that is called `agent`."""

    cwd: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    agent: Annotated[str, Field(max_length=100)] = ""


class ContextParams(Inbound):
    """`_sould/editor/context`: whether agents in `cwd` may know what the user looks at; with `sharing`, that is chosen."""

    cwd: str
    sharing: Sharing | None = None


class PlaceParams(Inbound):
    """A place in a text."""

    line: Annotated[int, Field(ge=1)]
    column: Annotated[int, Field(ge=1)] = 1


class SpanParams(Inbound):
    """From `start` up to `end`, which is not included."""

    start: PlaceParams
    end: PlaceParams


class SelectionParams(Inbound):
    """What is selected."""

    range: SpanParams
    text: str = ""


class ActiveParams(Inbound):
    """The file the user looks at."""

    file: str
    language_id: Lenient[str] = ""
    cursor: Lenient[PlaceParams | None] = None
    selection: Lenient[SelectionParams | None] = None
    visible: Lenient[SpanParams | None] = None


class OpenParams(Inbound):
    """A file that is open."""

    file: str
    dirty: Lenient[bool] = False


class TerminalParams(Inbound):
    """A terminal that its user shares with agents."""

    terminal_id: str
    title: Lenient[str] = ""


class StateParams(Inbound):
    """`_sould/editor/state`, a notification: what the client can do and how its window stands, whole, whenever that changes.

    `tools`: those of the catalogue it serves by `_sould/editor/call`. `workspaceFolders`: what it is asked about; without any, nothing.
    `focused`: the user looks at this window. The rest is what `editor_state` answers, as far as the user shares it; a client may
    leave it out.
    """

    tools: Items[str] = Field(default_factory=list)
    app: Lenient[str] = ""
    workspace_folders: Items[str] = Field(default_factory=list)
    focused: Lenient[bool] = False
    active: Lenient[ActiveParams | None] = None
    open: Items[OpenParams] = Field(default_factory=list[OpenParams])
    terminals: Items[TerminalParams] = Field(default_factory=list[TerminalParams])


class EditParams(Inbound):
    """`newText` in the place of what stands in `range`."""

    range: SpanParams
    new_text: str


class FileEditsParams(Inbound):
    """What is to become of a file: `edits`, all relative to one text, or `newText`, all of it anew.

    `digest`: sha256 (hex) of the UTF-8 bytes of the text that the edits are for, where the client knows it.
    """

    file: str
    edits: list[EditParams] = Field(default_factory=list[EditParams])
    new_text: str | None = None
    digest: str = ""


class CandidateParams(Inbound):
    """What may have been meant."""

    file: str
    line: int
    text: Lenient[str] = ""
    name_path: Lenient[str] = ""


class CallErrorParams(Inbound):
    """Why a call came to nothing; `code` is one of the catalogue's."""

    code: str
    message: str = ""
    candidates: Items[CandidateParams] = Field(default_factory=list[CandidateParams])


class CallAnswer(Inbound):
    """What a client answers to `_sould/editor/call`: `data` in the shape of the tool's result, or `error`.

    `edits`: what the tool wants written; the client writes nothing itself. `more`: a word on what was left out. `version`: of
    the document.
    """

    data: dict[str, Any] | None = None
    error: CallErrorParams | None = None
    edits: list[FileEditsParams] = Field(default_factory=list[FileEditsParams])
    more: Lenient[str] = ""
    version: Lenient[int | None] = None
