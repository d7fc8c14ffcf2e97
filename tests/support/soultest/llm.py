"""A model server that misbehaves on demand, on the loopback address.

The last user message names what to do: `[[name]]` or `[[name:argument]]`; a message without a scenario is answered with
plain text. In a test: `async with ModelServer() as server: …`. As a process: `python -m soultest.llm --port 0` prints its
base URL; `GET /requests` there answers with everything that was asked. Scenarios live in `soultest.llm_scenarios`.
"""

import argparse
import asyncio
import contextlib
import re
import socket
import ssl
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import orjson

SCENARIO = re.compile(r"\[\[(\w+)(?::(.*?))?\]\]", re.DOTALL)
CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model"}

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, and when (monotonic seconds)."""

    at: float
    path: str
    headers: dict[str, str]
    body: Json
    scenario: str
    argument: str
    attempt: int
    """Counts from 1 for the same last user message."""

    @property
    def has_tool_results(self) -> bool:
        """Whether the model already got an answer to calls it made in this turn."""
        messages: list[Json] = self.body.get("messages", [])
        return bool(messages) and messages[-1]["role"] == "tool"


@dataclass(slots=True)
class Exchange:
    """One request with the means to answer it, well or badly."""

    request: Request
    _writer: asyncio.StreamWriter
    _chunked: bool = field(default=False)

    async def start(self, content_type: str = "text/event-stream", status: int = 200, **headers: str) -> None:
        """Send the head of a chunked answer."""
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", "Transfer-Encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join((*lines, "", "")).encode())
        self._chunked = True
        await self._writer.drain()

    async def answer(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        """A whole answer at once."""
        await self.start(content_type, status, **headers)
        await self.raw(body)
        await self.end()

    async def raw(self, data: bytes) -> None:
        """Bytes of the body, as they are."""
        if data:
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await self._writer.drain()

    async def event(self, event: Json) -> None:
        """One `data:` event."""
        await self.raw(b"data: %b\n\n" % orjson.dumps(event))

    async def delta(self, finish: str | None = None, **delta: Any) -> None:
        """One chunk of the answer."""
        await self.event(CHUNK | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    async def finish(self, reason: str = "stop", usage: Json | None = None) -> None:
        """The end of a well-formed answer."""
        await self.delta(finish=reason)
        await self.event(CHUNK | {"choices": [], "usage": usage or {"prompt_tokens": 10, "completion_tokens": 5}})
        await self.raw(b"data: [DONE]\n\n")
        await self.end()

    async def end(self) -> None:
        """The end of the body."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def close(self) -> None:
        """Close the connection without ending the body."""
        self._writer.close()

    async def until_gone(self) -> None:
        """Wait for the client to hang up."""
        await self._writer.wait_closed()


Scenario: TypeAlias = Callable[[Exchange, str], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Make a function known by its name, without a trailing underscore."""
    SCENARIOS[function.__name__.rstrip("_")] = function  # pyright: ignore[reportAttributeAccessIssue] -- only functions are registered
    return function


class ModelServer:
    """The server. `url` is what a provider's `base_url` should be; `requests` is all that was asked, oldest first."""

    def __init__(self, port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        from soultest import llm_scenarios

        assert llm_scenarios.__doc__
        self.requests: list[Request] = []
        self.looks: list[dict[str, str]] = []
        """The headers with which it was asked for its models, oldest first."""
        self.disconnects = 0
        """How often a client left before the answer was over."""
        self.connections = 0
        self._changed = asyncio.Event()
        self._port = port
        self._tls = tls
        self._attempts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, limit=64 * 1024 * 1024, ssl=self._tls
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, reached: Callable[[Self], bool]) -> None:
        """Wait until `reached(server)`; looked at whenever a request comes or a connection ends."""
        while not reached(self):
            self._changed.clear()
            await self._changed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            ahead: bytes | None = b""
            while ahead is not None:
                ahead = await self._exchange(reader, writer, ahead)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ahead: bytes) -> bytes | None:
        """Answer one request; returns what was read of the next one, None when the connection is over."""
        head = ahead + await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, path, version = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "GET":
            if path.endswith("/models"):
                self.looks.append(headers)
            writer.write(_get(path, self.requests))
            await writer.drain()
            return b"" if version == "HTTP/1.1" else None
        request = self._record(path, headers, orjson.loads(body))
        exchange = Exchange(request, writer)
        answering = asyncio.create_task(self._answer(exchange))
        leaving = asyncio.create_task(reader.read(1))
        self._tasks |= {answering, leaving}
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        early = leaving.done() and not answering.done()
        for task in (answering, leaving):
            if not task.done() and (early or task is leaving):
                task.cancel()
        answered, following = await asyncio.gather(answering, leaving, return_exceptions=True)
        self._tasks -= {answering, leaving}
        left = early or following == b"" or isinstance(answered, ConnectionError)
        self.disconnects += early or isinstance(answered, ConnectionError)
        self._changed.set()
        if isinstance(answered, Exception) and not isinstance(answered, ConnectionError):
            raise answered
        if left or writer.is_closing():
            return None
        return following if isinstance(following, bytes) else b""

    async def _answer(self, exchange: Exchange) -> None:
        """Do what the last user message names."""
        if exchange.request.path.endswith("/embeddings"):
            await exchange.answer(*_embeddings(exchange.request.body))
            return
        run = SCENARIOS.get(exchange.request.scenario)
        if run is None:
            said = {"error": {"message": f"no scenario {exchange.request.scenario!r}"}}
            await exchange.answer(400, orjson.dumps(said))
        else:
            await run(exchange, exchange.request.argument)

    def _record(self, path: str, headers: dict[str, str], body: Json) -> Request:
        text = last_user_text(body)
        match = None
        for found in SCENARIO.finditer(text):
            match = found
        name, argument = (match[1], match[2] or "") if match else ("plain", "")
        self._attempts[text] += 1
        request = Request(time.monotonic(), path, headers, body, name, argument, self._attempts[text])
        self.requests.append(request)
        self._changed.set()
        return request


def last_user_text(body: Json) -> str:
    """The text of the last user message of a request."""
    for message in reversed(body.get("messages", [])):
        if message["role"] == "user":
            content = message["content"]
            parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return "\n".join(part["text"] for part in parts if part["type"] == "text")
    return ""


def _embeddings(body: Json) -> tuple[int, bytes]:
    """How often each letter occurs; a server that does not know the model `letters` has none."""
    if body["model"] != "letters":
        return 404, orjson.dumps({"error": {"message": f"no model {body['model']}"}})
    letters = "abcdefghijklmnopqrstuvwxyz"
    data = [
        {"object": "embedding", "index": at, "embedding": [float(text.lower().count(each)) for each in letters]}
        for at, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, orjson.dumps({"object": "list", "model": "letters", "data": data, "usage": usage})


def _get(path: str, requests: list[Request]) -> bytes:
    status, answer = 200, b'{"object":"list","data":[{"id":"test-model","object":"model","max_model_len":32768}]}'
    if path == "/requests":
        answer = orjson.dumps([{"at": r.at, "scenario": r.scenario, "argument": r.argument, "attempt": r.attempt,
                                "path": r.path, "headers": r.headers, "body": r.body} for r in requests])  # fmt: skip
    elif not path.endswith("/models"):
        status, answer = 404, b"{}"
    return b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(answer),
        answer,
    )


async def main(port: int) -> None:
    """Serve until ended."""
    async with ModelServer(port) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    # the scenarios register with `soultest.llm`, which is not this module when it runs as a program
    from soultest import llm

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(llm.main(parser.parse_args().port))
