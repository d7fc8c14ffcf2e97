"""Editor tools as an agent's own: a `ToolSource` that offers what somebody can serve where the session works.

They run in the daemon, not as a client's `ToolCallRequest`: what answers may be no client at all, and what is to be written passes
the same questions and the same review as every edit. Nothing is loaded until somebody can serve something.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, TypeAlias

import orjson
from pydantic import BaseModel

from sould.agents.base.text import plural
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.meantpaths import NamedPaths
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, tool_error, tool_ok
from sould.agents.tools.editor.calls import EditorCallDone, EditorCalls
from sould.agents.tools.editor.catalogue import CATALOGUE, EditorTool
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.judged import Json
from sould.agents.tools.editor.params import Anchor
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.editor.site import SHARED, Sharing, Site
from sould.agents.tools.editor.writing import EditWriter
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import Location, ToolKind, ToolReturn

_KINDS: Mapping[str, ToolKind] = {"read": "search", "show": "other", "write": "edit", "run": "execute"}

CurrentSite: TypeAlias = Callable[[], Site]
"""Where the session works, as it is now, and for whom."""
CurrentSharing: TypeAlias = Callable[[], Sharing]
"""What the user chose for the project, as it is now."""
NOT_SHARED: Final = orjson.dumps({"data": {"shared": False}}).decode()


class EditorAccess:
    """What all editor tools of a session stand on."""

    def __init__(
        self,
        backends: EditorBackends,
        site: CurrentSite,
        files: CallFiles,
        projects: BorrowedProjects,
        approval: Approval,
        sharing: CurrentSharing,
    ) -> None:
        self.backends = backends
        self.site: CurrentSite = site
        self.approval = approval
        self.sharing: CurrentSharing = sharing
        self._files = files
        self._projects = projects

    def files(self, call: ToolCallContext) -> CallFiles:
        """The files as a call may have them."""
        return self._files.for_call(call)

    async def make(self, tool: EditorTool, given: BaseModel, call: ToolCallContext) -> EditorCallDone:
        """Raises as `EditorCalls.make`."""
        files = self.files(call)
        calls = EditorCalls(self.backends, self.site(), self._projects, call.id)
        return await calls.make(tool, given, files, EditWriter(files, self.approval, call))

    @property
    def paths(self) -> NamedPaths:
        """For naming files only."""
        return self._files.paths


class EditorToolOfAgent(Tool[BaseModel]):
    """One tool of the catalogue, for one session."""

    kind: ClassVar[ToolKind]
    params: type[BaseModel]

    def __init__(self, tool: EditorTool, access: EditorAccess) -> None:
        self.name = tool.name  # pyright: ignore[reportAttributeAccessIssue] -- each instance is a tool of its own
        self.kind = _KINDS[tool.does]  # pyright: ignore[reportAttributeAccessIssue] -- as above
        self.params = tool.params
        self.spec = tool.spec
        self._tool = tool
        self._access = access

    def view(self, params: BaseModel) -> CallView:
        """`references in src/a.py`."""
        file = getattr(params, "file", "")
        if not file:
            return CallView(title=self.name)
        title, locations = self._access.paths.named(file)
        anchor: Anchor | None = getattr(params, "anchor", None)
        if anchor is not None and anchor.line is not None:
            locations = tuple(Location(path=each.path, line=anchor.line) for each in locations)
        return CallView(title=f"{self.name} in {title}", locations=locations)

    async def run(self, params: BaseModel, call: ToolCallContext) -> ToolReturn:
        """Ask, if it runs something; then have it done."""
        if self._tool.name in SHARED and self._access.sharing() == "off":
            return tool_ok(NOT_SHARED)
        refused = await self._refused(params, call)
        if refused is not None:
            return refused
        try:
            done = await self._access.make(self._tool, params, call)
        except EditorToolError as error:
            return tool_error(error.worded, brief=str(error)[:100])
        return as_result(done, shared_words(done) if self._tool.name in SHARED else "")

    async def _refused(self, params: BaseModel, call: ToolCallContext) -> ToolReturn | None:
        asks = self._tool.name in SHARED and self._access.sharing() == "ask"
        if self._tool.does != "run" and not asks:
            return None
        arguments = params.model_dump(mode="json", by_alias=True, exclude_defaults=not asks)
        wanted = "Share what you have open in the editor" if asks else f"Have the editor do {self.name}"
        return await self._access.approval.request_external(call, CallExternal(self.name, arguments), wanted)


def as_result(done: EditorCallDone, shared: str = "") -> ToolReturn:
    """What a call came to, for a model; `shared` is what its user is told that it now knows."""
    if done.rejected is not None:
        return done.rejected.model_copy(update={"display": (*done.display, *done.rejected.display)})
    output = orjson.dumps({"data": done.data, "meta": done.meta}).decode()
    if done.failed:
        return tool_error("Not everything was written.", output=output, display=done.display)
    if shared:
        return tool_ok(output, display=(*done.display, BriefBlock(text=shared)), extras={"shared": shared})
    return tool_ok(output, display=done.display)


def shared_words(done: EditorCallDone) -> str:
    """What of the editor the agent was told, for its user."""
    active: Json = done.data.get("active") or {}
    selected = ""
    if selection := active.get("selection"):
        lines: Json = selection["range"]
        selected = f", lines {lines['start']['line']} to {lines['end']['line']} selected"
    told = [f"{active['file']}{selected}"] if active else []
    told += [plural(len(opened), "open file")] if (opened := done.data.get("open")) else []
    told += ["a terminal"] if done.data.get("output") else []
    return f"Shared with the agent: {', '.join(told) or 'nothing'}"


def offered(tools: Iterable[str], access: EditorAccess) -> dict[str, EditorToolOfAgent]:
    """Those of the catalogue that an agent has not already by another name, in the catalogue's order."""
    served = set(tools)
    return {
        name: EditorToolOfAgent(tool, access) for name, tool in CATALOGUE.items() if name in served and not tool.own
    }
