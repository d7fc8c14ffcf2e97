"""The LSP frontend: the protocol."""

from sould.agents.base.importing import load
from sould.agents.base.rpc.stream import ByteStream
from sould.agents.clients.connections import ConnectionServices

SERVER = "sould.editors.lsp.connection.server"


class LspFrontend:
    """The `FrontendProtocol` of the language server protocol."""

    async def __call__(self, stream: ByteStream, services: ConnectionServices) -> None:
        """Serve one editor window until it is gone."""
        await load(SERVER)
        from sould.editors.lsp.connection.server import serve_lsp  # noqa: PLC0415 -- only where somebody wants it

        await serve_lsp(stream, services)
