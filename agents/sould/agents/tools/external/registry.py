"""The tools that the clients of one session run for its agents: registered, offered, called, answered once.

A call is a request in the session's channel, pending like an approval, and only the client that registered the tool
answers it. A client that goes takes its tools with it, and what it was asked ends at once. Nothing here knows a protocol.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import orjson
from msgspec import Struct, field

from sould.agents.journal.channel import RequestClosedError, Resolution
from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import ToolSpec
from sould.agents.mcp.naming import safe_schema
from sould.agents.mcp.tools import NAME as RESOURCES
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import CallExternal
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.soul import NO_TOOLSET
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.base import LOOKS, AnyArguments, CallView, Tool, ToolCallContext, tool_error
from sould.agents.toolapi.loading import REFERENCE_TOOLS
from sould.agents.toolapi.portable import inlined
from sould.agents.toolapi.sources import Offer
from sould.agents.toolapi.toolset import Toolset
from sould.agents.tools.external.definition import (
    ExternalDefinition,
    InvalidDefinitionError,
    read_answer,
    read_definition,
)
from sould.agents.wire.messages import ContextNote, ToolCallRequest, ToolKind, ToolResult, ToolReturn

# A tool that a client runs, as the model sees and calls it.
# Its client checks its arguments. Unless it is declared to only look, every call is a question unless a rule, the
# mode or an earlier answer allows it; what it answers is judged before anybody sees it.


Caller: TypeAlias = "Callable[[ExternalTool, str, str], Awaitable[ToolReturn]]"
"""Puts a call to the client that registered the tool.

What the tool came to; a client that goes away meanwhile is an error for the model.
"""


class ExternalTool(Tool[AnyArguments]):
    """One tool of one client, for one session."""

    kind: ClassVar[ToolKind]
    params = AnyArguments

    def __init__(
        self, definition: ExternalDefinition, client_id: str, client_name: str, approval: Approval, caller: Caller
    ) -> None:
        self.name = definition.name  # pyright: ignore[reportAttributeAccessIssue] -- each instance is a tool of its own
        self.kind = definition.kind  # pyright: ignore[reportAttributeAccessIssue] -- as above
        self.definition = definition
        self.client_id = client_id
        self.client_name = client_name
        self.spec = ToolSpec(definition.name, definition.description, safe_schema(definition.schema))
        self._approval = approval
        self._caller = caller

    @cached_property
    def argument_schema(self) -> Mapping[str, Any]:
        """See `Tool`: what its client wrote, null included."""
        return inlined(self.definition.schema)

    def view(self, params: AnyArguments) -> CallView:
        """`Zed: open_file`."""
        return CallView(title=f"{self.client_name}: {self.name}")

    async def run(self, params: AnyArguments, call: ToolCallContext) -> ToolReturn:
        """Ask, unless it only looks; then let the client do it."""
        arguments = params.given
        wanted = f"Call {self.name} of {self.client_name}"
        action = CallExternal(self.name, arguments, looks=self.kind in LOOKS)
        refused = await self._approval.request_external(call, action, wanted)
        if refused is not None:
            return refused
        return await self._caller(self, call.id, orjson.dumps(arguments).decode())


MOST_TOOLS: Final = 128
"""Of all clients of a session: what model servers take at most."""
RESERVED: Final = frozenset({*REFERENCE_TOOLS, RESOURCES})
"""Names of built-in tools, which another agent of the session may have."""


class ExternalTools(StepExtension, Struct):
    """A `ToolSource` of one session. Tools are offered in the order of their names, whoever comes first."""

    log: SessionLog
    approval: Approval
    clients: AttachedClients
    _toolset: Toolset | None = None
    """The main agent's."""
    _tools: dict[str, ExternalTool] = field(default_factory=dict[str, ExternalTool])
    _seen: dict[str, ExternalDefinition] = field(default_factory=dict[str, ExternalDefinition])
    """What each name meant last."""
    _gone: dict[str, str] = field(default_factory=dict[str, str])
    """Tools that are not offered any more, and the client that offered them."""
    _shown: Mapping[str, ExternalTool] = field(default_factory=dict[str, ExternalTool])
    """Those the model had at its last step."""
    _asked: dict[str, ExternalTool] = field(default_factory=dict[str, ExternalTool])
    """Whose calls are open, by the call's id."""

    # --- what clients do ----------------------------------------------------------------------------------------------

    def join(self, toolset: Toolset | None) -> None:
        """Said once, of the main agent: no tool of a client has the name of one in its toolset. None: it takes no tools of clients."""
        self._toolset = toolset

    def register(
        self, given: Sequence[Mapping[str, object]], client_id: str
    ) -> tuple[Sequence[str], Sequence[tuple[str, str]]]:
        """The tools that an attached client runs, in place of those it registered before; they go when it is detached.

        Each has `name`, `description`, `parameters` (a JSON schema) and `kind`, and is accepted, or refused with a reason.
        The names of those that are offered, and of those that are not with why, as a clause.
        """
        others = {name: tool for name, tool in self._tools.items() if tool.client_id != client_id}
        own: dict[str, ExternalTool] = {}
        rejected: list[tuple[str, str]] = []
        for each in given:
            try:
                if self._toolset is None:
                    raise InvalidDefinitionError(NO_TOOLSET)
                definition = read_definition(each)
                self._require_free(definition.name, own, others, self._toolset)
            except InvalidDefinitionError as error:
                rejected.append((str(each.get("name", ""))[:64], str(error)))
                continue
            own[definition.name] = self._tool(definition, client_id, self.clients.name(client_id))
        self._offer(others | own)
        return tuple(own), rejected

    def left(self, client_id: str) -> None:
        """A client is gone, its tools with it; calls that wait for it end."""
        self._offer({name: tool for name, tool in self._tools.items() if tool.client_id != client_id})
        for call_id, tool in list(self._asked.items()):
            if tool.client_id == client_id:
                self.log.channel.withdraw(call_id, "expired")

    def answer(self, call_id: str, answer: object, client_id: str) -> Resolution:
        """What a `ToolCallRequest` came to, by the client that was asked: Wire's `return_value`; anything else is an error.

        The first answer counts.
        """
        tool = self._asked.get(call_id)
        if tool is not None and tool.client_id != client_id:
            return Resolution("not_yours", tool.client_name)
        result = read_answer(tool.name if tool else "", answer)
        return self.log.channel.resolve(ToolResult(tool_call_id=call_id, return_value=result), client_id)

    # --- what agents see ----------------------------------------------------------------------------------------------

    @property
    def tools(self) -> Offer:
        """See `ToolSource`."""
        return self._tools

    async def arrived(self, name: str) -> None:
        """See `ToolSource`: a client registers at once, or not."""

    def missing(self, name: str) -> ToolReturn | None:
        """See `ToolSource`."""
        client = self._gone.get(name)
        if client is None:
            return None
        return tool_error(
            f"{name} was a tool of {client}, which disconnected or withdrew it, so nothing was run. Do without it.",
            brief=f"{client} disconnected",
        )

    async def before_step(self, turn: Turn) -> None:
        """Tell the model which tools it has lost since its last step; one that came back in between was never missing."""
        lost = {name: tool.client_name for name, tool in self._shown.items() if name not in self._tools}
        for client in dict.fromkeys(lost.values()):
            names = ", ".join(name for name, owner in lost.items() if owner == client)
            self.log.publish(
                ContextNote(text=f"{client} disconnected or withdrew these tools: {names}. Do without them.")
            )
        self._shown = self._tools

    # --- one call -------------------------------------------------------------------------------------------------------

    async def _call(self, tool: ExternalTool, call_id: str, arguments: str) -> ToolReturn:
        if self._tools.get(tool.name) is not tool:  # it went while a person was asked
            return self.missing(tool.name) or tool_error(f"{tool.name} is another tool by now; call it again.")
        self._asked[call_id] = tool
        request = ToolCallRequest(id=call_id, name=tool.name, arguments=arguments, client_id=tool.client_id)
        try:
            response = await self.log.channel.request(request)
        except RequestClosedError:
            return tool_error(
                f"{tool.client_name} disconnected while it ran {tool.name}; what it did by then is not known. Check "
                "before you go on.",
                brief=f"{tool.client_name} disconnected",
            )
        finally:
            del self._asked[call_id]
        assert isinstance(response, ToolResult)
        return response.return_value

    # --- what is offered ------------------------------------------------------------------------------------------------

    def _require_free(
        self, name: str, own: Mapping[str, ExternalTool], others: Mapping[str, ExternalTool], toolset: Toolset
    ) -> None:
        if name in others:
            raise InvalidDefinitionError(f"{others[name].client_name} offers a tool of this name")
        if name in RESERVED or (name not in self._tools and toolset.find(name) is not None):
            raise InvalidDefinitionError("conflicts with builtin tool")
        if name not in own and len(own) + len(others) >= MOST_TOOLS:
            raise InvalidDefinitionError(f"a session takes {MOST_TOOLS} tools of clients")

    def _tool(self, definition: ExternalDefinition, client_id: str, client_name: str) -> ExternalTool:
        """The one there is, when nothing of it is new; what was allowed for another tool of the name is forgotten."""
        before = self._seen.get(definition.name)
        if before is not None and before != definition:
            self.approval.forget(f"mcp:{definition.name}")
        self._seen[definition.name] = definition
        known = self._tools.get(definition.name)
        if known is not None and known.definition == definition and known.client_id == client_id:
            return known
        return ExternalTool(definition, client_id, client_name, self.approval, self._call)

    def _offer(self, tools: Mapping[str, ExternalTool]) -> None:
        lost = {name: tool.client_name for name, tool in self._tools.items() if name not in tools}
        self._gone = {name: client for name, client in (self._gone | lost).items() if name not in tools}
        if tools != self._tools:
            self._tools = {name: tools[name] for name in sorted(tools)}
