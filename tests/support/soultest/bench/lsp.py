"""An editor in memory: the real dispatcher, host, projects and journals, and an LSP client beside them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices
from sould.agents.sessions.hostport import HostPort
from sould.editors.lsp.server import serve_lsp
from soultest.bench import Bench
from soultest.bench.acp import Memory, Notes
from soultest.bench.memory import stream_pair
from soultest.lspclient import Chooser, LspClient


class ConnectEditor(Protocol):
    """Connects an editor to a bench's host: `async with connect_editor() as editor`."""

    def __call__(
        self,
        *,
        resume: ConnectionRecord | None = None,
        remember: Callable[[ConnectionRecord], None] = ...,
        handed: bytes = ...,
        notes: Notes | None = None,
        pipe: int = ...,
        check: bool = True,
        choose: Chooser = ...,
        applies: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[LspClient]: ...


@asynccontextmanager
async def editor_connected(
    bench: Bench,
    *,
    resume: ConnectionRecord | None = None,
    remember: Callable[[ConnectionRecord], None] = lambda resume: None,
    handed: bytes = b"",
    notes: Notes | None = None,
    pipe: int = 64 * 1024,
    check: bool = True,
    choose: Chooser = lambda params: None,
    applies: bool = True,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[LspClient]:
    """One editor's connection; when the block is left what it was told is judged, and the server has ended."""

    async def host() -> HostPort:
        return bench.port

    process = ClientProcess(dict(os.environ) if environment is None else environment, 0o022)
    memory = Memory(resume, remember, handed, notes)
    ours, theirs = stream_pair(pipe)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_lsp(ours, ConnectionServices(host, lambda *_: None, process, memory, "0.0.0")))
        async with LspClient(theirs, choose=choose, applies=applies) as client:
            yield client
    if check:
        client.check()
