"""A client in memory: the real dispatcher, host, soul and journal, a scripted model, and an ACP client beside them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from sould.acp.server import Accounts, AcpResume, AcpServices, serve_acp
from sould.agents.sessions.host import SessionHost
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


class Connect(Protocol):
    """Connects a client to a bench's host: `async with connect() as client`."""

    def __call__(
        self,
        *,
        resume: AcpResume | None = None,
        remember: Callable[[AcpResume], None] = ...,
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
    resume: AcpResume | None = None,
    remember: Callable[[AcpResume], None] = lambda resume: None,
    accounts: Accounts | None = None,
    pipe: int = 64 * 1024,
    check: bool = True,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncGenerator[AcpClient, None]:
    """One client's connection; when the block is left its transcript is judged and the server has ended."""

    async def host() -> SessionHost:
        return bench.host

    services = AcpServices(
        host=host,
        environment=dict(os.environ) if environment is None else environment,
        cwd=str(bench.project),
        umask=0o022,
        version="0.0.0",
        resume=resume,
        remember=remember,
        accounts=accounts,
    )
    ours, theirs = stream_pair(pipe)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_acp(ours, services))
        async with AcpClient(theirs, **options) as client:
            yield client
    if check:
        client.check()
