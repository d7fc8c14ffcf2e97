"""One LSP connection from its first byte to its last, also over a restart of the daemon.

`initialize`, `shutdown` and `exit` are answered with what this module imports. All else waits for the table of methods, which
is loaded meanwhile.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from sould.agents.base.importing import load
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.dialect import HEADERS
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.rpc.stream import ByteStream
from sould.agents.clients.connections import ConnectionServices
from sould.agents.clients.late import LateHandler
from sould.editors.lsp.connection import handshake
from sould.editors.lsp.connection.introduction import Json
from sould.editors.lsp.connection.outlet import CountedStream
from sould.editors.lsp.peer import Peer

if TYPE_CHECKING:
    from sould.agents.clients.connections import ConnectionRecord
    from sould.editors.lsp.dispatch import Dispatcher


async def serve_lsp(stream: ByteStream, services: ConnectionServices) -> None:
    """Serve one editor window until it is gone. What an earlier daemon left goes on (D11)."""
    counted = CountedStream(stream)
    peer = Peer(services, counted)
    resume = services.memory.resume
    connection = Connection(
        counted,
        Methods(peer),
        dialect=HEADERS,
        first_id=max(resume.asked, default=0) + 1 if resume else 1,
        changed=peer.remember,
    )
    peer.connect(connection)
    services.memory.watch(peer)
    before = (lambda: _go_on(peer, resume)) if resume else None
    try:
        await connection.serve(before)
    finally:
        await peer.leave()


class Methods:
    """The connection's handler: the handshake at once, everything else by the table, in the order in which it came."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._table = LateHandler(partial(_dispatcher, peer))

    async def request(self, method: str, params: Json) -> Any:
        """See `Dispatcher`."""
        if method == "initialize":
            return await handshake.initialize(self._peer, params)
        self._peer.require_initialized()
        if method == "shutdown":
            self._peer.announce_end()
            return None
        if self._peer.leaving:
            raise RpcError(INVALID_REQUEST, "The connection ends: `shutdown` was sent.")
        return await self._table.request(method, params)

    async def notification(self, method: str, params: Json) -> None:
        """See `Dispatcher`. What comes before the handshake is dropped, as the protocol has it, but for the end."""
        if method == "exit":
            await self._peer.end()
        elif self._peer.editor is not None and not self._peer.leaving:
            await self._table.notification(method, params)


async def _dispatcher(peer: Peer) -> "Dispatcher":
    await load(handshake.DISPATCH)
    from sould.editors.lsp.dispatch import Dispatcher  # noqa: PLC0415 -- initialize is answered without it

    return Dispatcher(peer)


async def _go_on(peer: Peer, resume: "ConnectionRecord") -> None:
    await load("sould.editors.lsp.connection.resuming")
    from sould.editors.lsp.connection.resuming import go_on  # noqa: PLC0415 -- hardly ever needed; imports what initialize must not wait for

    await go_on(peer, resume)
