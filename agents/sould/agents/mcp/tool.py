"""A tool of an MCP server as the model sees and calls it.

Its arguments are checked by its server, not here; its schema, name and description are what `naming` leaves of them.
Every call is a question unless a rule, the mode or an earlier answer allows it.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from sould.agents.llm.provider import ToolSpec
from sould.agents.mcp.naming import described, safe_schema, tool_name
from sould.agents.mcp.results import Asking, ToolDefinition
from sould.agents.mcp.server import Server
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.asking import call_words
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import AnyArguments, CallView, Tool, ToolCallContext
from sould.agents.toolapi.portable import inlined
from sould.agents.wire.messages import ToolReturn


class McpTool(Tool[AnyArguments]):
    """One tool of one server, for one session."""

    params = AnyArguments

    def __init__(self, server: Server, definition: ToolDefinition, approval: Approval, asking: Asking) -> None:
        self.name = tool_name(server.spec.name, definition.name)  # pyright: ignore[reportAttributeAccessIssue] -- each instance is a tool of its own
        self.server = server
        self.definition = definition
        self._approval = approval
        self._asking = asking

    @cached_property
    def description(self) -> str:
        """The server's name, then its words."""
        return described(self.server.spec.name, self.definition.description)

    @cached_property
    def spec(self) -> ToolSpec:
        """See `Tool`."""
        return ToolSpec(self.name, self.description, safe_schema(self.definition.schema))

    @cached_property
    def argument_schema(self) -> Mapping[str, Any]:
        """See `Tool`: what its server wrote, null included."""
        return inlined(self.definition.schema)

    @cached_property
    def _digest(self) -> str:
        """Of all that makes it another tool: its words, and what runs. "" for one that runs in a client, whose word nobody can check."""
        spec, made = self.server.spec, self.definition
        if spec.carrier is not None:
            return ""
        # of variables and headers the names only: tokens come and go
        runs = [spec.transport, spec.command, spec.args, sorted(spec.env), spec.cwd, spec.url, sorted(spec.headers)]
        about = [made.name, made.description, made.schema, made.read_only, *runs]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    @property
    def has_effects(self) -> bool:
        """Unless its server says that it only looks."""
        return not self.definition.read_only

    def view(self, params: AnyArguments) -> CallView:
        """`github: create_issue`."""
        return CallView(title=f"{self.server.spec.name}: {self.definition.name}")

    async def run(self, params: AnyArguments, call: ToolCallContext) -> ToolReturn:
        """Ask, then let the server do it."""
        arguments = params.given
        wanted = f"Call {' '.join(self.definition.name.split())} of the MCP server {self.server.spec.name}"
        refused = await self._approval.request(
            call,
            CallExternal(self.name, arguments, definition=self._digest),
            sender=self.name,
            description=call_words(wanted, arguments),
        )
        if refused is not None:
            return refused
        return await self.server.call(self.definition.name, arguments, self._asking, call.stream)
