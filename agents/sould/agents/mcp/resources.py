"""The tool with which the model lists and reads resources of a session's MCP servers.

Offered only while a server has some. Listing asks nobody; reading is a call to the server and asks like one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Final, TypeAlias

from pydantic import Field

from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.wire.content import TextPart, UserInput
from sould.agents.wire.messages import ToolReturn

# Resources of servers that a prompt mentions: `@server:uri` in its text, or a link that an editor put there.
# What is mentioned is read for the prompt, once each, within the limits of a call's result. What cannot be read is
# said to the user and to the model; the turn goes on.


MOST: Final = 10
"""Resources of one prompt."""
_LINK = re.compile(r'<resource_link uri="([^"]{1,2000})"')
_ATTACHED = ("<resource ", "<resource>")
_AFTER = ".,;:!?)]}'\"»"
"""What may follow an address in a sentence."""


def mentioned(given: UserInput, servers: Mapping[str, Server]) -> tuple[tuple[Server, str], ...]:
    """The servers and addresses that a prompt mentions, in its order, each once. There is at least one server."""
    texts = [given] if isinstance(given, str) else [part.text for part in given if isinstance(part, TextPart)]
    if not isinstance(given, str):  # what an attached file says is not what the user says
        texts = [text for text in texts if not text.startswith(_ATTACHED)]
    found = [pair for text in texts for pair in (*_named(text, servers), *_linked(text, servers))]
    return tuple(dict.fromkeys(found))[:MOST]


def _named(text: str, servers: Mapping[str, Server]) -> Iterator[tuple[Server, str]]:
    if "@" not in text:
        return
    names = "|".join(re.escape(name) for name in sorted(servers, key=len, reverse=True))
    for match in re.finditer(rf"(?<![\w@])@({names}):(\S{{1,2000}})", text):
        server = servers[match[1]]
        known = {resource.uri for resource in server.resources}
        uri = match[2]
        while uri not in known and uri[-1:] and uri[-1] in _AFTER:
            uri = uri[:-1]
        if uri:
            yield server, uri


def _linked(text: str, servers: Mapping[str, Server]) -> Iterator[tuple[Server, str]]:
    import html  # noqa: PLC0415 -- the names of all characters, half a megabyte, for few prompts

    for match in _LINK.finditer(text):
        uri = html.unescape(match[1])
        for server in servers.values():
            if any(resource.uri == uri for resource in server.resources):
                yield server, uri
                break


async def read_mentioned(server: Server, uri: str) -> tuple[str, str]:
    """What the model is told about one mentioned resource, and the sentence for the user when it cannot be read."""
    import html  # noqa: PLC0415 -- as above

    place = f'server="{html.escape(server.spec.name)}" uri="{html.escape(uri)}"'
    try:
        parts, cut = await server.read(uri)
    except UnavailableError as error:
        return f'<resource {place} note="It could not be read." />', f"@{server.spec.name}:{uri}: {error}"
    texts = [part.text if isinstance(part, TextPart) else "[an image or audio, not shown here]" for part in parts]
    return "\n".join((f"<resource {place}>", *texts, *((cut,) if cut else ()), "</resource>")), ""


NAME = "ReadMcpResource"
MOST_SHOWN = 200


class Params(ToolParams):
    """Which resource."""

    server: str = Field(description="The MCP server.")
    uri: str = Field(default="", description="The resource's address; without it the server's resources are listed.")


ServersNow: TypeAlias = Callable[[], Mapping[str, Server]]
"""The servers a session has, by name, asked anew at each use."""


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
