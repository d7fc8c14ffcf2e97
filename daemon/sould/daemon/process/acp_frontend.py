"""The ACP frontend: the protocol, and the keys that its clients may ask about."""

from sould.acp.connection.services import Accounts
from sould.acp.server.server import serve_acp
from sould.agents.base.rpc.stream import ByteStream
from sould.agents.clients.connections import ConnectionServices


class AcpFrontend:
    """The `FrontendProtocol` of ACP."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def __call__(self, stream: ByteStream, services: ConnectionServices) -> None:
        """Serve one client until it is gone."""
        await serve_acp(stream, services, self._accounts)
