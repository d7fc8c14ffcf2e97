"""One ACP connection from its first byte to its last, also over a restart of the daemon.

`initialize` is answered with what this module imports. All else waits for the table of methods, which is loaded meanwhile.
"""

from functools import partial
from typing import TYPE_CHECKING

from sould.acp.connection.client import Accounts, AcpClient
from sould.acp.server import handshake
from sould.agents.base.importing import load
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.clients.connections import ConnectionServices
from sould.agents.clients.frontend.connection import LateHandler

if TYPE_CHECKING:
    from sould.agents.clients.connections import ConnectionRecord
    from sould.agents.clients.frontend.routes import Dispatcher


async def serve_acp(stream: ByteStream, services: ConnectionServices, accounts: Accounts | None = None) -> None:
    """Serve one client until it is gone; its turns go on in the host (D12). What an earlier daemon left goes on (D11)."""
    client = AcpClient(services, accounts)
    methods = LateHandler(partial(_dispatcher, client), partial(handshake.initialize, client))
    await client.serve(stream, methods, go_on=partial(_go_on, client))


async def _dispatcher(client: AcpClient) -> "Dispatcher[AcpClient]":
    await load(handshake.DISPATCH)
    from sould.acp.server.dispatch import dispatcher  # noqa: PLC0415 -- initialize is answered without it

    return dispatcher(client)


async def _go_on(client: AcpClient, resume: "ConnectionRecord") -> None:
    await load("sould.acp.server.resuming")
    from sould.acp.server.resuming import go_on  # noqa: PLC0415 -- hardly ever needed; imports what initialize must not wait for

    await go_on(client, resume)
