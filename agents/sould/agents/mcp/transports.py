"""How messages of MCP servers travel, and how leniently they are read: over a process of the guard, or an editor's connection.

The library refuses a list of tools for one definition that is not as it should be, and a result whose structured part is not
as the tool's output schema says, with the text that tells why. Here such a fault costs only the part that is wrong, whatever
the transport. What a server sends is bounded.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, Final, Unpack, cast

import anyio
import httpx2
import mcp_types
import orjson
from anyio.abc import ObjectReceiveStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from sould.agents.base.process.guard import GuardedProcess
from sould.agents.base.rpc.framing import LineSplitter, TooLong
from sould.agents.soul.mcp_over_client import Carrier, CarrierError

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of an answer, of one event of a stream, or of a line."""
MOST: Final = {"tools": 256} | dict.fromkeys(
    ("content", "contents", "messages", "prompts", "resources", "resourceTemplates"), 2000
)
"""Entries of the lists in a server's messages."""
logger = logging.getLogger(__name__)
LOGGED: Final = "notifications/message"
Heard = MemoryObjectSendStream[SessionMessage | Exception]
Said = MemoryObjectReceiveStream[SessionMessage]


def cut_lists(message: dict[str, Any]) -> None:
    """Shorten the lists of a JSON-RPC message in place. The model is told where the parts of a result were cut."""
    for outer in ("result", "params"):
        fields = message.get(outer)
        if not isinstance(fields, dict):
            continue
        for name, most in MOST.items():
            found = cast("dict[str, Any]", fields).get(name)
            entries = cast("list[Any]", found) if isinstance(found, list) else []
            if len(entries) > most:
                more = len(entries) - most
                del entries[most:]
                if name == "content":
                    entries.append({"type": "text", "text": f"[... {more} further parts left out ...]"})


class TooMuchError(httpx2.ReadError):
    """A server sent more than any answer may have."""


def bound(response: httpx2.Response) -> None:
    """Read no more of it than the limit. A stream of events has no end, so there each event is counted."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooMuchError("it compressed its answer, which it was not asked to")
    kind = response.headers.get("content-type", "")
    stream = response.stream
    if isinstance(stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(stream, events=kind.startswith("text/event-stream"))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, *, events: bool) -> None:
        self._inner = inner
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._counted():
            yield chunk

    async def _counted(self) -> AsyncGenerator[bytes, None]:
        seen = 0
        async for chunk in self._inner:
            end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n")) if self._events else -1
            seen = len(chunk) - end - 1 if end >= 0 else seen + len(chunk)
            if seen > LARGEST:
                raise TooMuchError(f"it sent more than {LARGEST // 1024**2} MiB at once")
            yield chunk

    async def aclose(self) -> None:
        """See `AsyncByteStream`."""
        await self._inner.aclose()


class LenientTransport(ClientTransport):
    """Another transport, whose messages are mended before the library judges them."""

    def __init__(self, inner: ClientTransport) -> None:
        self._inner = inner
        self.legacy_only = inner.legacy_only

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        options = replace(transport_options or TransportOptions(), session_class=LenientSession)
        async with self._inner.connect_session(transport_options=options, **session_kwargs) as session:
            yield session


class LenientSession(ClientSession):
    """A session over a stream that mends what it hears."""

    def __init__(self, read_stream: Any, write_stream: Any, **more: Unpack[SessionKwargs]) -> None:
        super().__init__(_Mended(read_stream), write_stream, **more)

    async def validate_tool_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        """A result is what its tool says, also where that is not what its output schema promised."""


class _Mended(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a stream, their lists bounded and their tools sound."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def last_context(self) -> object:
        """Where the last message was sent from, which the library asks of streams that know it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return _mended(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()


def _mended(heard: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(heard, SessionMessage) and isinstance(heard.message, JSONRPCResponse | JSONRPCNotification):
        cut_lists(vars(heard.message))
        result: object = getattr(heard.message, "result", None)
        tools = cast("dict[str, Any]", result).get("tools") if isinstance(result, dict) else None
        if isinstance(tools, list):
            tools[:] = [tool for raw in cast("list[Any]", tools) if (tool := sound_tool(raw)) is not None]
    return heard


def sound_tool(raw: object) -> dict[str, Any] | None:
    """A definition that the library takes; None where it has no name, or is beyond mending."""
    if not isinstance(raw, dict):
        return None
    given = cast("dict[str, Any]", raw)
    # what a result has to be is not checked here, and a schema of it that is odd costs the whole list
    made = {key: value for key, value in given.items() if key != "outputSchema"}
    made["inputSchema"] = _schema(given.get("inputSchema"))
    needed = {key: made[key] for key in ("name", "description", "inputSchema") if key in made}
    bare = {key: needed[key] for key in ("name", "inputSchema") if key in needed}
    sound = next(filter(_is_sound, (made, needed, bare)), None)
    if sound is None:
        logger.info("a tool was left out, because its definition cannot be used: %.200r", given)
    return sound


def _is_sound(tool: dict[str, Any]) -> bool:
    try:
        mcp_types.Tool.model_validate(tool, by_name=False)
    except ValidationError:
        return False
    return True


def _schema(schema: object) -> dict[str, Any]:
    """An object. What stands among the properties and is no schema is none."""
    made = dict(cast("dict[str, Any]", schema)) if isinstance(schema, dict) else {}
    made["type"] = "object"
    properties = made.get("properties")
    named = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    made["properties"] = {name: value for name, value in named.items() if isinstance(value, dict | bool)}
    if not isinstance(made.get("required"), list):
        made.pop("required", None)
    return made


@asynccontextmanager
async def _session(
    begin: Callable[[TaskGroup, Heard, Said], None],
    unread: int,
    options: TransportOptions | None,
    session_kwargs: SessionKwargs,
) -> AsyncGenerator[ClientSession]:
    """A session over what `begin` starts: it sends what is `Said` and tells what is `Heard`, of which `unread` may wait."""
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](unread)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        begin(tasks, heard, said)
        try:
            session_class = (options or TransportOptions()).session_class
            async with session_class(incoming, outgoing, **session_kwargs) as session:
                yield session
        finally:
            tasks.cancel_scope.cancel()
            for stream in (heard, incoming, outgoing, said):
                stream.close()


class ProcessTransport(ClientTransport):
    """One connection over one process: one JSON message a line. When it ends, `ended` is set and `reason` may say why.

    The library's own stdio transport starts processes itself, which would outlive a killed daemon; the guard owns this one.
    What is no message is no error: servers print banners.
    """

    legacy_only = True

    def __init__(self, process: GuardedProcess, ended: asyncio.Event) -> None:
        self._process = process
        self.ended = ended
        self.reason = ""
        self.noise: list[str] = []
        """The first and the last line that was no message: servers print banners, and complain on their standard output."""

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        async with _session(self._begin, 0, transport_options, session_kwargs) as session:
            yield session

    def _begin(self, tasks: TaskGroup, heard: Heard, said: Said) -> None:
        tasks.start_soon(self._read, heard)
        tasks.start_soon(self._write, said, heard)

    async def _read(self, heard: Heard) -> None:
        try:
            async with heard, aclosing(self._lines()) as lines:
                async for line in lines:
                    try:
                        message = _parsed(line)
                    except ValidationError:
                        self._note(line)
                        continue
                    if message is not None:
                        await heard.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            self.ended.set()

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        lines = LineSplitter(LARGEST)
        async with aclosing(self._process.output()) as output:
            async for chunk in output:
                found = tuple(lines.feed(chunk))
                for line in found:
                    if isinstance(line, bytes):
                        yield line
                if lines.is_too_long or any(isinstance(line, TooLong) for line in found):
                    self.reason = f"it sent a line of more than {LARGEST // 1024**2} MiB"
                    return

    async def _write(self, said: Said, heard: Heard) -> None:
        try:
            async with said:
                async for message in said:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.send(text.encode() + b"\n")
        except (OSError, anyio.ClosedResourceError):
            heard.close()  # nothing more can be asked, so nobody is to wait for an answer
            self.ended.set()

    def _note(self, line: bytes) -> None:
        self.noise[1:] = [line[:300].decode(errors="replace").strip()]


def _parsed(line: bytes) -> JSONRPCMessage | None:
    """The message of a line; None for what a server logs, which nobody here reads: a flood of it must cost little.

    Raises:
        ValidationError: it is no message.
    """
    try:
        found: object = orjson.loads(line)
    except orjson.JSONDecodeError:  # the library takes more than the standard allows, and servers send more
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(found, dict):
        members = cast("dict[str, Any]", found)
        if members.get("method") == LOGGED and "id" not in members:
            return None
    return jsonrpc_message_adapter.validate_python(found, by_name=False)


MOST_UNREAD: Final = 256
"""Messages of servers that wait to be read."""
CANCELLED: Final = "notifications/cancelled"


class CarriedTransport(ClientTransport):
    """One conversation with one server of an editor. `ended` is set when there can be none any more.

    Only the stateless protocol is spoken so (2026-07-28): there is no handshake, and what a server says on its own it says
    while it works on a request of ours. Answers wait for their reader; what is said beside them is dropped when nobody reads it.
    """

    def __init__(self, carrier: Carrier, server_id: str, ended: asyncio.Event) -> None:
        self._carrier = carrier
        self._server_id = server_id
        self._ended = ended
        self._asked: dict[RequestId, anyio.CancelScope] = {}

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        session_kwargs["log_level"] = None  # a server logs to us only when it is asked to
        async with _session(self._begin, MOST_UNREAD, transport_options, session_kwargs) as session:
            yield session

    def _begin(self, tasks: TaskGroup, heard: Heard, said: Said) -> None:
        tasks.start_soon(self._carry, said, heard, tasks)
        tasks.start_soon(self._watch, heard)

    async def _watch(self, heard: Heard) -> None:
        await self._carrier.gone.wait()
        self._end(heard)

    def _end(self, heard: Heard) -> None:
        heard.close()  # nothing more can be asked, so nobody is to wait for an answer
        self._ended.set()

    async def _carry(self, said: Said, heard: Heard, tasks: TaskGroup) -> None:
        async with said:
            async for each in said:
                message = each.message
                if isinstance(message, JSONRPCRequest):
                    tasks.start_soon(self._ask, message, heard)
                elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
                    scope = self._asked.get((message.params or {}).get("requestId", ""))
                    if scope is not None:
                        scope.cancel()

    async def _ask(self, request: JSONRPCRequest, heard: Heard) -> None:
        def told(method: str, params: dict[str, Any] | None) -> None:
            notice = JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
            try:
                heard.send_nowait(SessionMessage(notice))
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # dropped, so that a flood costs no memory

        with anyio.CancelScope() as scope:
            self._asked[request.id] = scope
            try:
                outcome = await self._carrier.ask(
                    self._server_id, str(request.id), request.method, request.params, told
                )
                answer = _answer(request.id, outcome)
            except CarrierError as error:
                if error.for_good:
                    self._end(heard)
                    return
                answer = _refusal(request.id, str(error))
            finally:
                del self._asked[request.id]
            try:
                await heard.send(SessionMessage(answer))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


def _answer(request_id: RequestId, outcome: dict[str, Any]) -> JSONRPCMessage:
    """The inner outcome; `result` wins where a server gives both."""
    try:
        if "result" in outcome:
            return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=outcome["result"])
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData.model_validate(outcome.get("error")))
    except ValidationError:
        return _refusal(request_id, "The editor's answer holds neither a result nor an error of MCP.")


def _refusal(request_id: RequestId, sentence: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=INTERNAL_ERROR, message=sentence))
