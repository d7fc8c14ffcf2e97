"""The tool with which the model lists and reads resources of a session's MCP servers.

Offered only while a server has some. Listing asks nobody; reading is a call to the server and asks like one.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from pydantic import Field

from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ToolReturn

NAME = "ReadMcpResource"
MOST_SHOWN = 200


class Params(ToolParams):
    """Which resource."""

    server: str = Field(description="The MCP server.")
    uri: str = Field(default="", description="The resource's address; without it the server's resources are listed.")


class ServersNow(Protocol):
    """The servers a session has, asked anew at each use."""

    def __call__(self) -> Mapping[str, Server]:
        """By name."""
        ...


class ReadMcpResource(Tool[Params]):
    """For one session; `servers` are those it has now."""

    name = NAME
    title = "Read from an MCP server"
    kind = "read"
    params = Params

    def __init__(self, names: tuple[str, ...], servers: ServersNow, approval: Approval) -> None:
        self.names = names
        self._servers = servers
        self._approval = approval

    @cached_property
    def description(self) -> str:
        """With the names of the servers that have resources."""
        names = ", ".join(map(cleaned, self.names))
        return f"Lists or reads resources (texts, records, images) that MCP servers offer. Servers with some: {names}."

    def view(self, params: Params) -> CallView:
        """`docs: file:///guide`."""
        return CallView(title=f"{params.server}: {params.uri or 'resources'}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """List, or ask and read."""
        server = self._servers().get(params.server)
        if server is None or not server.resources:
            return tool_error(f"No server {params.server!r} has resources; there is {', '.join(self.names)}.")
        if not params.uri:
            return tool_ok("\n".join(listing(server)))
        refused = await self._approval.request(
            call,
            CallExternal(NAME, params.model_dump()),
            sender=NAME,
            description=f"Read {params.uri} from the MCP server {params.server}",
        )
        if refused is not None:
            return refused
        try:
            parts, cut = await server.read(params.uri)
        except UnavailableError as error:
            return tool_error(str(error), brief="Not read")
        only_text = [part.text for part in parts if isinstance(part, TextPart)]
        return tool_ok("\n".join(only_text) if len(only_text) == len(parts) else parts, message=cut)


def listing(server: Server) -> list[str]:
    """A line for each resource, as it is mentioned."""
    lines = [
        f"- @{cleaned(server.spec.name)}:{cleaned(each.uri)} {cleaned(each.name)}"
        + (f": {cleaned(each.description)[:200]}" if each.description else "")
        + (" (fill in what is in braces)" if each.template else "")
        for each in server.resources[:MOST_SHOWN]
    ]
    more = len(server.resources) - MOST_SHOWN
    return [*lines, f"- and {more} more"] if more > 0 else lines
