"""The ACP face: a client's byte stream, what the last daemon knew of it, and the adapter that speaks the protocol.

Keeps the connection's record (D11): the adapter says what must survive before it acts, and what it has said to the
client counts only when the bytes have left. Knows nothing of the protocol itself.
"""

from sould.daemon.paths import Paths
from sould.daemon.server import Connection
from sould.daemon.sessions import Sessions


class AcpFace:
    """One object serves all ACP connections."""

    def __init__(self, paths: Paths, sessions: Sessions) -> None:
        self._paths = paths
        self._sessions = sessions

    async def __call__(self, connection: Connection) -> int:
        """Serve until the client is gone."""
        stream = connection.open_stream()
        while data := await stream.read():
            import json

            for line in data.splitlines():
                stream.write(
                    json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}).encode() + b"\n"
                )
        return 0
