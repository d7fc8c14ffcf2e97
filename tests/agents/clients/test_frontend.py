"""What a frontend needs, shown by a toy of one page: `soultest.toyfrontend`, over a plain socket."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices
from sould.agents.sessions.hostport import HostPort
from sould.daemon.fdstream import FdStream
from soultest.bench import Bench, call
from soultest.bench.acp import Memory
from soultest.toyfrontend import serve_toy

Json = dict[str, Any]


class Toy:
    """The other end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = 0

    async def ask(self, method: str, **params: Any) -> Json:
        """Its result, or `{"error": ...}`; what is told meanwhile is passed over."""
        self._last += 1
        asked = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self._writer.write(json.dumps(asked).encode() + b"\n")
        while (answer := await self.read()).get("id") != self._last:
            pass
        return answer.get("result") or {"error": answer["error"]}

    async def read(self) -> Json:
        return json.loads(await self._reader.readline())

    async def aclose(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@asynccontextmanager
async def toy_connected(
    bench: Bench, resume: ConnectionRecord | None = None, kept: list[ConnectionRecord] | None = None
) -> AsyncGenerator[Toy]:
    async def host() -> HostPort:
        return bench.port

    memory = Memory(resume, (kept if kept is not None else []).append)
    services = ConnectionServices(host, lambda *_: None, ClientProcess(dict(os.environ), 0o022), memory, "1.2.3")
    ours, theirs = socket.socketpair()
    descriptor = theirs.detach()
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_toy(FdStream(descriptor, descriptor), services))
        toy = Toy(*await asyncio.open_connection(sock=ours))
        try:
            yield toy
        finally:
            await toy.aclose()


async def test_a_toy_frontend_lists_sessions_and_answers_an_approval(bench: Bench) -> None:
    bench.script(call("Shell", command="echo hello > new.txt"), "text: done")
    async with bench.running(), toy_connected(bench) as toy:
        assert await toy.ask("hello", name="a robot") == {"version": "1.2.3"}
        session = await bench.new("ask")
        await toy.ask("_sould/inbox/subscribe")
        prompt = session.turns.prompt("go", "nobody")
        told = await toy.read()
        assert told["method"] == "_sould/inbox/changed"
        [item] = told["params"]["items"]
        [listed] = (await toy.ask("sessions"))["sessions"]
        assert listed["id"] == item["session"]["id"] == session.id
        answered = await toy.ask("_sould/inbox/answer", id=item["id"], decision="approve")
        assert (answered["outcome"], answered["ended"]["by"]) == ("taken", "a robot")
        assert (await prompt.outcome()).stop_reason == "finished"
        assert (session.info.cwd / "new.txt").read_text() == "hello\n"


async def test_nothing_is_answered_before_the_handshake(bench: Bench) -> None:
    async with bench.running(), toy_connected(bench) as toy:
        assert (await toy.ask("sessions"))["error"]["message"] == "Say hello first."
        assert "no method" in (await toy.ask("nonsense"))["error"]["message"]


async def test_a_toy_frontend_goes_on_after_a_restart(bench: Bench) -> None:
    kept: list[ConnectionRecord] = []
    async with bench.running():
        async with toy_connected(bench, kept=kept) as toy:
            await toy.ask("hello", name="a robot")
            await toy.ask("_sould/inbox/subscribe")
            await toy.ask("sessions")
        async with toy_connected(bench, resume=kept[-1]) as toy:
            assert (await toy.read())["params"]["everything"]
            assert (await toy.ask("sessions"))["sessions"] == []
