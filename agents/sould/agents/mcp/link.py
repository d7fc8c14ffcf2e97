"""One connection to an MCP server through fastmcp's client: what it offers, and calls to it.

This module and those it imports bring in fastmcp (43 MB, a second or more), so it is loaded in a thread when a session
first has a server (D9), never from another module's top. It holds no policy: when to connect, how often and for whom
is decided by `server`.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from msgspec import Struct

# the library reads settings from the environment and from a `.env` file of the directory it happens to run in, sets up
# logging of its own and asks the network for newer versions
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_LOG_ENABLED"] = "false"
os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"

import httpx2
import mcp_types
from fastmcp.client import Client
from fastmcp.client.transports import ClientTransport, SSETransport, StreamableHttpTransport
from mcp import MCPError
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sould.agents.base.network.clients import client_to_any
from sould.agents.base.network.failures import causes
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.mcp.results import (
    Elicitation,
    Elicited,
    PromptDefinition,
    ResourceDefinition,
    Sampled,
    Sampling,
    ToolDefinition,
    converted,
    sampling,
    within,
)
from sould.agents.mcp.results import resource as resource_part
from sould.agents.mcp.specs import ServerSpec
from sould.agents.mcp.transports import LenientTransport, bound
from sould.agents.wire.content import ContentPart
from sould.agents.wire.messages import ToolReturn

for _noisy in ("mcp", "fastmcp"):
    logging.getLogger(_noisy).setLevel(logging.ERROR)
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # what it logs with a traceback, it raises, too

ListsChanged: TypeAlias = Callable[[], object]
"""Told that the server offers other tools, prompts or resources now."""
Roots: TypeAlias = Callable[[], tuple[Path, ...]]
"""The directories the sessions of a server work in, as they are now."""
HttpClients: TypeAlias = Callable[..., httpx2.AsyncClient]
"""Makes a client, which the library closes."""
Elicit = Callable[[Elicitation], Awaitable[Elicited]]
T = TypeVar("T")
Sample = Callable[[Sampling], Awaitable[Sampled | str]]
"""The model's answer, or why there is none."""

MOST_LISTED = 1000
"""Resources of one server."""
PROGRESS_EVERY_S = 0.1
"""Seconds between two reports of progress that are shown."""
LISTEN_AGAIN_S = 30.0
"""Seconds after which a lost subscription is made anew."""
_REFUSED = -1
"""The code that MCP gives to a request for the model which the user refused."""
_CHANGES = (
    mcp_types.ToolListChangedNotification
    | mcp_types.PromptListChangedNotification
    | mcp_types.ResourceListChangedNotification
)


class ServerError(Exception):
    """The server answered with an error; the connection is as good as before."""


class UnauthorizedError(Exception):
    """The server wants a sign-in."""


class Handlers(Struct, frozen=True):
    """What a connection may ask of us, and tell us."""

    lists_changed: ListsChanged
    elicit: Elicit
    sample: Sample | None = None
    """None: servers are told that nobody can be asked to let them use the model."""


class _Side(Struct):
    """Our side of a connection: what the library calls when the server asks or tells something."""

    handlers: Handlers
    roots: Roots
    known: tuple[Path, ...] | None = None
    """The roots that the server knows, or knows to be others; None: it never asked."""

    def list_roots(self, _: object) -> list[str]:
        self.known = self.roots()
        return [root.as_uri() for root in self.known]

    def roots_changed(self) -> bool:
        """Whether they are others than it knows, which it is told then."""
        before, now = self.known, self.roots()
        self.known = now if before is not None else None
        return before not in (None, now)

    async def heard(self, message: mcp_types.ServerNotification | Exception) -> None:
        if isinstance(message, _CHANGES):
            self.handlers.lists_changed()

    async def elicited(self, message: str, _: object, params: mcp_types.ElicitRequestParams, __: object) -> Any:
        schema: Any = params.requested_schema if isinstance(params, mcp_types.ElicitRequestFormParams) else None
        url = params.url if isinstance(params, mcp_types.ElicitRequestURLParams) else ""
        answer = await self.handlers.elicit(Elicitation(message, schema, url))
        content = answer.content if schema is not None and answer.action == "accept" else None
        return mcp_types.ElicitResult(action=answer.action, content=cast("Any", content))

    async def sampled(self, _: object, params: mcp_types.CreateMessageRequestParams, __: object) -> Any:
        assert self.handlers.sample is not None
        answer = await self.handlers.sample(sampling(params))
        if isinstance(answer, str):
            return mcp_types.ErrorData(code=_REFUSED, message=answer)
        return mcp_types.CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(type="text", text=answer.text),
            model=answer.model,
            stop_reason=answer.stop_reason,
        )


class Link:
    """An initialised connection."""

    def __init__(self, client: Client[Any], side: "_Side") -> None:
        self._client = client
        self._side = side

    async def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools as the server describes them; none when it has no tools."""
        capabilities = self._client.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return ()
        tools = await self._client.list_tools()
        return tuple(
            ToolDefinition(
                tool.name,
                tool.description or "",
                tool.input_schema,
                read_only=bool(tool.annotations and tool.annotations.read_only_hint),
                as_task=bool(tool.execution and tool.execution.task_support == "required"),
            )
            for tool in tools
        )

    async def prompts(self) -> tuple[PromptDefinition, ...]:
        """The prompts the server offers; none when it cannot say."""
        capabilities = self._client.server_capabilities
        prompts = await _listed(capabilities and capabilities.prompts, self._client.list_prompts)
        return tuple(
            PromptDefinition(
                prompt.name,
                prompt.description or "",
                tuple((argument.name, bool(argument.required)) for argument in prompt.arguments or ()),
            )
            for prompt in prompts
        )

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt.

        Raises:
            ServerError: the server refused.
            Exception: whatever the library raises when a connection breaks.
        """
        result = await _answered(self._client.get_prompt(name, dict(arguments)))
        texts = [message.content.text for message in result.messages if message.content.type == "text"]
        return "\n\n".join(texts)

    async def resources(self) -> tuple[ResourceDefinition, ...]:
        """The resources and the templates of resources the server offers; none when it cannot say."""
        capabilities = self._client.server_capabilities
        offered = capabilities and capabilities.resources
        listed = await _listed(offered, self._client.list_resources)
        templates = await _listed(offered, self._client.list_resource_templates)
        found = [ResourceDefinition(str(each.uri), each.name, each.description or "") for each in listed]
        found += [ResourceDefinition(each.uri_template, each.name, each.description or "", True) for each in templates]
        return tuple(found[:MOST_LISTED])

    async def read(self, uri: str, limit: int) -> tuple[tuple[ContentPart, ...], str]:
        """A resource's content, and a sentence when more than `limit` characters of it were left out.

        Raises:
            ServerError: the server refused.
            Exception: whatever the library raises when a connection breaks.
        """
        result = await _answered(self._client.read_resource_mcp(uri))
        parts = [resource_part(each.model_dump(mode="json", by_alias=True)) for each in result.contents]
        return within(parts, limit)

    async def hear_of_changes(self, changed: Callable[[], None]) -> None:
        """Be told of changed lists where the protocol sends no notifications unasked; returns where there is no need."""
        capabilities = self._client.server_capabilities
        if capabilities is None or self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        tools = bool(capabilities.tools and capabilities.tools.list_changed)
        prompts = bool(capabilities.prompts and capabilities.prompts.list_changed)
        resources = bool(capabilities.resources and capabilities.resources.list_changed)
        while tools or prompts or resources:
            try:
                async with listen(
                    self._client.session,
                    tools_list_changed=tools,
                    prompts_list_changed=prompts,
                    resources_list_changed=resources,
                ) as subscription:
                    async for _ in subscription:
                        changed()
            except SubscriptionLost:
                changed()
            except MCPError:
                return
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def tell_of_roots(self) -> None:
        """Tell the server if the roots are others than it knows; one that never asked for them need not know."""
        if self._side.roots_changed() and self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self._client.send_roots_list_changed()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, limit: int, stream: Callable[[str], None]
    ) -> ToolReturn:
        """Call a tool; the result is at most `limit` characters of text, and whatever media came with it.

        Raises:
            ServerError: the server refused the request.
            Exception: whatever the library raises when a connection breaks.
        """
        shown = -PROGRESS_EVERY_S

        async def told(progress: float, total: float | None, message: str | None) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown < PROGRESS_EVERY_S:
                return
            shown = now
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            stream(f"{share} {message or ''}".rstrip() + "\n")

        return converted(
            await _answered(self._client.call_tool_mcp(tool, dict(arguments), progress_handler=told)), limit
        )


@asynccontextmanager
async def open_link(
    transport: ClientTransport,
    roots: Callable[[], tuple[Path, ...]],
    handlers: Handlers,
    version: str,
    *,
    stateless: bool = False,
) -> AsyncGenerator[Link]:
    """Connect and shake hands; closing ends the conversation, not the process. `stateless`: there is no handshake.

    The server is told our name and `version`, and the `roots` as they are when it asks.

    Raises:
        UnauthorizedError: the server wants a sign-in.
        Exception: whatever the library raises when a server cannot be reached or speaks nonsense.
    """
    side = _Side(handlers, roots)
    lenient = LenientTransport(transport)

    def client(mode: str) -> Client[Any]:
        return Client(
            lenient,
            mode=mode,
            name="sould",
            roots=cast("Any", side.list_roots),
            message_handler=side.heard,
            elicitation_handler=cast("Any", side.elicited),
            sampling_handler=cast("Any", side.sampled) if handlers.sample is not None else None,
            log_handler=_ignore,
            init_timeout=0,
            client_info=mcp_types.Implementation(name="sould", version=version),
        )

    try:
        async with AsyncExitStack() as stack:
            try:  # most servers speak the older protocol, and those of both lose nothing by it
                connected = await stack.enter_async_context(client("auto" if stateless else "legacy"))
            except MCPError:
                if transport.legacy_only or stateless:
                    raise
                connected = await stack.enter_async_context(client("auto"))
            yield Link(connected, side)
    except Exception as error:
        if wants_sign_in(error):
            raise UnauthorizedError from error
        raise


async def _listed(offered: object, listing: Callable[[], Awaitable[list[T]]]) -> list[T]:
    """A list of the server; an empty one where it offers none or cannot say."""
    try:
        return await listing() if offered is not None else []
    except MCPError:
        return []


async def _answered(asked: Awaitable[T]) -> T:
    """The answer to a request. Raises ServerError where the server refused, and what the library raises for all else."""
    try:
        return await asked
    except MCPError as error:
        # the library's own word for a connection that ended; servers use the same code for what they like
        if (error.error.code, error.error.message) == (mcp_types.CONNECTION_CLOSED, "Connection closed"):
            raise
        raise ServerError(error.error.message[:2000]) from error


async def _ignore(_: object) -> None:
    """What servers log is theirs; their standard error is what we keep."""


def wants_sign_in(error: BaseException) -> bool:
    """The server refused for want of a sign-in, wherever below `error` that stands."""
    return any(
        isinstance(cause, UnauthorizedError)
        or (isinstance(cause, httpx2.HTTPStatusError) and cause.response.status_code in (401, 403))
        for cause in causes(error)
    )


def http_client(variables: Mapping[str, str], heard: Callable[[int], None] = lambda _: None) -> HttpClients:
    """Makes clients that go through the session's proxy and trust its certificates. `heard` is told each status."""
    network = NetworkSettings.of(variables)

    async def responded(response: httpx2.Response) -> None:
        heard(response.status_code)
        bound(response)

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: object,
    ) -> httpx2.AsyncClient:
        return client_to_any(
            network,
            timeout or httpx2.Timeout(30.0, read=300.0),
            headers={**(headers or {}), "accept-encoding": "identity"},  # a compressed answer has no size to bound
            auth=auth,
            responded=responded,
        )

    return client


def remote_transport(
    spec: ServerSpec, variables: Mapping[str, str], auth: httpx2.Auth | None, heard: Callable[[int], None]
) -> ClientTransport:
    """A server that is reached over the network. `heard` is told the status of each response."""
    kind = SSETransport if spec.transport == "sse" else StreamableHttpTransport
    client = http_client(variables, heard)
    return kind(spec.url, headers=dict(spec.headers), auth=auth, httpx_client_factory=client)
