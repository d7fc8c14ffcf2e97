"""A client in memory: the real dispatcher, host, soul and journal, a scripted model, and an ACP client beside them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from sould.acp.connection.client import Accounts
from sould.acp.server.server import serve_acp
from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices, Resumable
from sould.agents.sessions.hostport import HostPort
from soultest.acpclient import AcpClient, Json, Policy
from soultest.bench import Bench
from soultest.bench.memory import stream_pair


class Keys:
    """Accounts of a user who is signed in until he signs out."""

    def __init__(self, *names: str) -> None:
        self.names = names

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        return self.names

    async def forget(self) -> None:
        self.names = ()


class Notes:
    """What a frontend noted, in memory."""

    def __init__(self) -> None:
        self.lines = b""

    def read(self) -> bytes:
        return self.lines

    def append(self, line: bytes) -> None:
        self.lines += line

    def replace(self, lines: bytes) -> None:
        self.lines = lines


class Memory:
    """What the next daemon will know of a connection: given to `keep` whenever it changes."""

    def __init__(
        self,
        resume: ConnectionRecord | None,
        keep: Callable[[ConnectionRecord], None],
        handed: bytes = b"",
        notes: Notes | None = None,
    ) -> None:
        self.handed = handed
        self.notes = notes or Notes()
        self.resume = resume
        self._keep = keep
        self._connection: Resumable | None = None

    def watch(self, connection: Resumable) -> None:
        self._connection = connection

    def remember(self) -> None:
        assert self._connection is not None
        self._keep(self._connection.snapshot())


class Connect(Protocol):
    """Connects a client to a bench's host: `async with connect() as client`."""

    def __call__(
        self,
        *,
        resume: ConnectionRecord | None = None,
        remember: Callable[[ConnectionRecord], None] = ...,
        accounts: Accounts | None = None,
        pipe: int = ...,
        check: bool = True,
        permissions: Policy = ...,
        buffers: dict[str, str] | None = None,
        save: bool = True,
        form: Callable[[Json], Json] = ...,
        environment: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[AcpClient]: ...


@asynccontextmanager
async def connected(
    bench: Bench,
    *,
    resume: ConnectionRecord | None = None,
    remember: Callable[[ConnectionRecord], None] = lambda resume: None,
    accounts: Accounts | None = None,
    pipe: int = 64 * 1024,
    check: bool = True,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncGenerator[AcpClient, None]:
    """One client's connection; when the block is left its transcript is judged and the server has ended."""

    async def host() -> HostPort:
        return bench.port

    process = ClientProcess(dict(os.environ) if environment is None else environment, 0o022)
    services = ConnectionServices(host, lambda *_: None, process, Memory(resume, remember), "0.0.0")
    ours, theirs = stream_pair(pipe)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_acp(ours, services, accounts))
        async with AcpClient(theirs, **options) as client:
            yield client
    if check:
        client.check()
