"""An MCP server over HTTP or SSE, made with the library that most servers are made with; or one that wants a sign-in.

    python mcpremote.py http|sse|closed|oauth|huge

Prints its address when it listens, and ends when its input does.
"""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from fastmcp.server.auth import OAuthProvider

PROGRAM = Path(__file__)


@asynccontextmanager
async def remote(kind: str, root: Path) -> AsyncGenerator[str, None]:
    """The address of such a server, running until the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAM),
        kind,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=root,
    )
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().strip()
        await _listening(urlsplit(address).port or 0)
        yield address
    finally:
        process.kill()
        await process.wait()


async def _listening(port: int) -> None:
    """Return when somebody takes connections there; a server says its address before it does."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return


def main(kind: str) -> None:
    """Serve until the input ends."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    if kind == "closed":
        _closed(port)
    elif kind == "huge":
        _huge(port)
    else:
        _open(kind, port)


def _say(address: str) -> None:
    sys.stdout.write(address + "\n")
    sys.stdout.flush()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _open(kind: str, port: int) -> None:
    from fastmcp import Context, FastMCP
    from fastmcp.server.dependencies import get_http_headers

    server = FastMCP("remote", auth=_sign_in(port) if kind == "oauth" else None)

    @server.tool
    def greet(name: str) -> str:  # pyright: ignore[reportUnusedFunction] -- registered
        """Greets, and says which token it was sent."""
        return f"hello {name} with {get_http_headers().get('x-token', 'nothing')}"

    @server.tool
    async def confirm(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction] -- registered
        """Asks first."""
        answer = await ctx.elicit("Really?", response_type=["yes", "no"])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- untyped
        return f"{answer.action} {getattr(answer, 'data', '')}"

    path = "sse" if kind == "sse" else "mcp"
    _say(f"http://127.0.0.1:{port}/{path}")
    server.run(transport="sse" if kind == "sse" else "http", host="127.0.0.1", port=port, show_banner=False)


RENEWALS = "renewals"
"""The file beside it where the server notes them: a line for each."""


def _note(renewal: str) -> None:
    with Path(RENEWALS).open("a") as file:
        file.write(renewal + "\n")


def _sign_in(port: int) -> "OAuthProvider":
    """An authorisation server that lets everybody in at once. Refresh tokens are good for once; renewed, the old tokens end."""
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
    from mcp.server.auth.settings import ClientRegistrationOptions

    class Noting(InMemoryOAuthProvider):
        async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
            found = await super().load_refresh_token(client, refresh_token)
            _note("renewed" if found is not None else "refused")
            await asyncio.sleep(0.2)  # so that others come meanwhile
            return found

    return Noting(
        base_url=f"http://127.0.0.1:{port}", client_registration_options=ClientRegistrationOptions(enabled=True)
    )


def _closed(port: int) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

    _say(f"http://127.0.0.1:{port}/mcp")
    HTTPServer(("127.0.0.1", port), Refuses).serve_forever()


def _huge(port: int) -> None:
    """Speaks the protocol with the standard library only; `spill` answers with as many megabytes as it is asked for."""
    import json
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    number: dict[str, Any] = {"type": "object", "properties": {"megabytes": {"type": "integer"}}}
    tools = [{"name": "spill", "inputSchema": number}, {"name": "pour", "inputSchema": number}]
    info = {"name": "huge", "version": "1"}
    answers: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": tools},
    }

    class Spills(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in asked:
                self._send(202, [])
                return
            params: dict[str, Any] = asked.get("params") or {}
            result = json.dumps(answers.get(asked["method"], {"content": [{"type": "text", "text": "@"}]}))
            head, at, tail = f'{{"jsonrpc":"2.0","id":{json.dumps(asked["id"])},"result":{result}}}'.partition("@")
            events = params.get("name") == "pour"
            filling: list[str] = ["x" * 1024**2] * params.get("arguments", {}).get("megabytes", 0) if at else []
            parts: list[str] = [*(["data: "] if events else []), head, *filling, tail, *(["\n\n"] if events else [])]
            self._send(200, parts, "text/event-stream" if events else "application/json")

        def _send(self, status: int, parts: list[str], kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(sum(map(len, parts))))
            self.end_headers()
            for part in parts:
                self.wfile.write(part.encode())

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

    _say(f"http://127.0.0.1:{port}/mcp")
    ThreadingHTTPServer(("127.0.0.1", port), Spills).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
