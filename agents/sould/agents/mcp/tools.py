"""The tools that a session's MCP servers bring, the one that reads their resources, and resources that a prompt mentions.

A tool's arguments are checked by its server; its schema, name and description are what `naming` leaves of them. Every call is
a question unless a rule, the mode or an earlier answer allows it. Listing resources asks nobody; reading is a call.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

from pydantic import Field

from sould.agents.llm.provider import ToolSpec
from sould.agents.mcp.naming import cleaned, described, safe_schema, tool_name
from sould.agents.mcp.results import Asking, ToolDefinition
from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import CallExternal
from sould.agents.toolapi.base import AnyArguments, CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.portable import inlined
from sould.agents.wire.content import TextPart, UserInput
from sould.agents.wire.messages import ToolReturn

MOST: Final = 10
"""Resources of one prompt."""
_LINK = re.compile(r'<resource_link uri="([^"]{1,2000})"')
_ATTACHED = ("<resource ", "<resource>")
_AFTER = ".,;:!?)]}'\"»"
"""What may follow an address in a sentence."""


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
        action = CallExternal(self.name, arguments, definition=self._digest)
        refused = await self._approval.request_external(call, action, wanted)
        if refused is not None:
            return refused
        return await self.server.call(self.definition.name, arguments, self._asking, call.stream)


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
