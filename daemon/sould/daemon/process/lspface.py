"""The LSP face: the protocol."""

from sould.agents.importing import load
from sould.agents.rpc.stream import ByteStream
from sould.agents.sessions.faces import FaceServices

SERVER = "sould.editors.lsp.connection.server"


class LspFace:
    """The `FaceProtocol` of the language server protocol."""

    async def __call__(self, stream: ByteStream, services: FaceServices) -> None:
        """Serve one editor window until it is gone."""
        await load(SERVER)
        from sould.editors.lsp.connection.server import serve_lsp  # noqa: PLC0415 -- only where somebody wants it

        await serve_lsp(stream, services)
