"""The program of tests/daemon/test_loading.py: a client's first minute in a fresh interpreter, and what is loaded at each step.

    python loadedmain.py DIRECTORY DESCRIPTOR

The model, played by this program, is at the socket that listens at the descriptor.

Prints a JSON object: by step, the packages that are not the standard library's, and those of `HEAVY`. Imports nothing
but what the daemon itself has when it begins to listen.
"""

import asyncio
import json
import os
import socket
import sys
from typing import IO, Any

from sould.acp.server.handshake import PARAMETERS
from sould.acp.server.server import serve_acp
from sould.agents.base.importing import load
from sould.agents.clients.connections import ClientProcess, ConnectionNotes, ConnectionServices, Resumable
from sould.daemon.fdstream import FdStream
from sould.daemon.paths import Paths
from sould.daemon.process.main import main as daemon
from sould.daemon.process.sessions import FOUNDATIONS, Sessions, composed

HEAVY = frozenset(
    {
        *("argparse", "ctypes", "email", "html", "http", "importlib.metadata", "multiprocessing", "pathlib", "sqlite3"),
        *("tomllib", "unittest", "urllib.request", "xml", "zipfile"),
    }
)
"""Of the standard library."""


ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


async def play_model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the head of a request, and answer."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(ANSWER)
    await writer.drain()
    writer.close()


class NothingKept:
    """A connection that no daemon had before."""

    resume = None
    handed = b""

    def read(self) -> bytes:
        """See `ConnectionNotes`."""
        return b""

    def append(self, line: bytes) -> None:
        """See `ConnectionNotes`."""

    def replace(self, lines: bytes) -> None:
        """See `ConnectionNotes`."""

    @property
    def notes(self) -> ConnectionNotes:
        """See `ConnectionStore`."""
        return self

    def watch(self, connection: Resumable) -> None:
        """See `ConnectionStore`."""

    def remember(self) -> None:
        """See `ConnectionStore`."""


def loaded() -> list[str]:
    """What is loaded now."""
    found = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"sould", "cython_runtime"}
    return sorted({name for name in found if not name.startswith("_")} | HEAVY & sys.modules.keys())


class Client:
    """Asks, and reads until it is answered."""

    def __init__(self, said: IO[bytes], writer: int) -> None:
        self._said = said
        self._writer = writer

    async def ask(self, method: str, until: str, **params: Any) -> Any:
        """The result, or the first update of the kind `until`."""
        asked = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        os.write(self._writer, json.dumps(asked).encode() + b"\n")
        while True:
            message = json.loads(await asyncio.to_thread(self._said.readline))
            if message.get("id") == method:
                return message["result"]
            if message.get("params", {}).get("update", {}).get("sessionUpdate") == until:
                return message


async def main(project: str, listening: socket.socket) -> None:
    """From the first byte to the first token."""
    assert daemon  # the whole process is loaded, as it is when a client is accepted
    steps = {"listening": loaded()}
    sessions, closed = Sessions(Paths(os.environ), 0o022, composed), asyncio.Event()
    (reader, theirs), (ours, writer) = os.pipe(), os.pipe()
    stream = FdStream(reader, writer)
    services = ConnectionServices(
        sessions.host, lambda *_: None, ClientProcess(dict(os.environ), 0o022), NothingKept(), "0"
    )
    model = await asyncio.start_server(play_model, sock=listening)
    async with model, asyncio.TaskGroup() as group:
        running = group.create_task(sessions.run(closed))
        group.create_task(serve_acp(stream, services))
        with os.fdopen(ours, "rb") as said:
            client = Client(said, theirs)
            await client.ask("initialize", "", protocolVersion=1)
            steps["initialize"] = loaded()
            await load(*FOUNDATIONS, PARAMETERS)
            steps["beforehand"] = loaded()
            session = await client.ask("session/new", "", cwd=project, mcpServers=[])
            steps["session"] = loaded()
            prompt = [{"type": "text", "text": "hi"}]
            await client.ask("session/prompt", "agent_message_chunk", sessionId=session["sessionId"], prompt=prompt)
            steps["token"] = loaded()
            os.close(theirs)
            closed.set()
            await running
    sys.stdout.write(json.dumps(steps))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], socket.socket(fileno=int(sys.argv[2]))))
