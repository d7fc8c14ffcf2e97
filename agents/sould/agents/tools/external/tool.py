"""A tool that a client runs, as the model sees and calls it.

Its client checks its arguments. Unless it is declared to only look, every call is a question unless a rule, the mode or
an earlier answer allows it; what it answers is judged before anybody sees it.
"""

from collections.abc import Awaitable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol

import orjson

from sould.agents.base.yaml_text import as_lines
from sould.agents.llm.provider import ToolSpec
from sould.agents.mcp.naming import safe_schema
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import LOOKS, AnyArguments, CallView, Tool, ToolCallContext
from sould.agents.toolapi.schemas import inlined
from sould.agents.tools.external.definition import ExternalDefinition
from sould.agents.wire.messages import ToolKind, ToolReturn


class Caller(Protocol):
    """Puts a call to the client that registered the tool."""

    def __call__(self, tool: "ExternalTool", call_id: str, arguments: str, /) -> Awaitable[ToolReturn]:
        """What the tool came to; a client that goes away meanwhile is an error for the model."""
        ...


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
        refused = await self._approval.request(
            call,
            CallExternal(self.name, arguments, looks=self.kind in LOOKS),
            sender=self.name,
            description=f"{wanted} with\n{as_lines(arguments)}" if arguments else wanted,
        )
        if refused is not None:
            return refused
        return await self._caller(self, call.id, orjson.dumps(arguments).decode())
