"""A program that speaks Wire to a bench's sessions over a real socket. All it is told is judged by the schemas in docs."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices
from sould.agents.sessions.hostport import HostPort
from sould.daemon.fdstream import FdStream
from sould.daemon.wire.server import serve_wire
from soultest.bench import Bench
from soultest.bench.acp import Memory
from soultest.wireschema import WireJudge

Json = dict[str, Any]
NEW: Json = {"protocol_version": "1.10", "client": {"name": "t"}, "capabilities": {"supports_question": True}}


class WireProgram:
    """The program's side: what it says, and everything it was told, in order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines: list[Json] = []
        self._reader = reader
        self._writer = writer
        self._last = 0
        self.judge = WireJudge()

    def send(self, message: Json) -> None:
        self.judge.asked(message)
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> str:
        """The id of the request."""
        self._last += 1
        self.send({"id": str(self._last), "method": method, "params": params})
        return str(self._last)

    async def read(self) -> Json:
        while (line := await self._reader.readline()) == b"\n":
            pass  # it ends a line that a daemon may have left in the middle
        assert line, "the connection has ended"
        said: Json = json.loads(line)
        self.judge.said(said)
        self.lines.append(said)
        return said

    async def answer(self, asked: str) -> Json:
        """The whole line that answers a request; what comes before it is kept in `lines`."""
        while True:
            said = await self.read()
            if said.get("id") == asked and "method" not in said:
                return said

    async def result(self, method: str, **params: Any) -> Json:
        answer = await self.answer(self.ask(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, **params: Any) -> Json:
        return (await self.answer(self.ask(method, **params)))["error"]

    async def until(self, kind: str) -> Json:
        """The payload of the next event or request of a type."""
        while True:
            params: Json = (await self.read()).get("params", {})
            if params.get("type") == kind:
                return params["payload"]

    @property
    def types(self) -> list[str]:
        """The types of all events and requests so far."""
        return [line["params"]["type"] for line in self.lines if "method" in line]

    def events(self, kind: str) -> list[Json]:
        found = (line["params"] for line in self.lines if line.get("method") == "event")
        return [params["payload"] for params in found if params["type"] == kind]

    async def aclose(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@asynccontextmanager
async def wire_connected(
    bench: Bench,
    *arguments: str,
    resume: ConnectionRecord | None = None,
    kept: list[ConnectionRecord] | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncGenerator[WireProgram]:
    async def host() -> HostPort:
        return bench.port

    memory = Memory(resume, (kept if kept is not None else []).append)
    process = ClientProcess(dict(os.environ) | dict(env or {}), 0o022, str(bench.project), arguments)
    services = ConnectionServices(host, lambda *_: None, process, memory, "1.2.3")
    ours, theirs = socket.socketpair()
    descriptor = theirs.detach()
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_wire(FdStream(descriptor, descriptor), services))
        program = WireProgram(*await asyncio.open_connection(sock=ours, limit=10_000_000))
        try:
            yield program
        finally:
            await program.aclose()


def types_of(lines: Sequence[Json]) -> list[str]:
    return [line["params"]["type"] for line in lines if "method" in line]
