"""MCP over HTTP (streamable, without streams), on this machine only: one address, one token for each run, no cookies.

A page in a browser reaches nothing here: a foreign `Host`, any `Origin` and a wrong token are refused before a body is read.
"""

import hmac
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, cast

from sould.daemon.cli.editormcp.tools import Server

PATH: Final = "/mcp"
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of one message."""
PATIENCE: Final = 30.0
"""Seconds in which a client sends what it begins."""


class McpHttpServer(ThreadingHTTPServer):
    """Bound when it is made; `serve_forever` serves. The messages of all clients are answered one after another."""

    daemon_threads = True

    def __init__(self, server: Server, port: int = 0) -> None:
        """`port` 0: any that is free."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(32)
        """What clients send as `Authorization: Bearer`."""
        self._server = server
        self._one = threading.Lock()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}{PATH}"

    def answer(self, body: bytes) -> bytes | None:
        """See `Server`."""
        with self._one:
            return self._server.answer(body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server_version, sys_version = "sould", ""

    def do_POST(self) -> None:
        """One message."""
        server = cast("McpHttpServer", self.server)
        refused = self._refusal(server)
        if refused is not None:
            self._say(refused)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST:
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE if length.isdigit() else HTTPStatus.LENGTH_REQUIRED)
            return
        answer = server.answer(self.rfile.read(int(length)))
        self._say(HTTPStatus.ACCEPTED if answer is None else HTTPStatus.OK, answer or b"")

    def do_GET(self) -> None:
        """There is no stream of the server's own."""
        self._say(self._refusal(cast("McpHttpServer", self.server)) or HTTPStatus.METHOD_NOT_ALLOWED)

    def do_DELETE(self) -> None:
        """Nor a session that could end."""
        self.do_GET()

    def _refusal(self, server: McpHttpServer) -> HTTPStatus | None:
        if self.headers.get("Host", "") not in {f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")}:
            return HTTPStatus.MISDIRECTED_REQUEST
        if "Origin" in self.headers:
            return HTTPStatus.FORBIDDEN
        given = self.headers.get("Authorization", "").encode(errors="replace")
        if not hmac.compare_digest(given, f"Bearer {server.token}".encode()):
            return HTTPStatus.UNAUTHORIZED
        return None if self.path == PATH else HTTPStatus.NOT_FOUND

    def _say(self, status: HTTPStatus, body: bytes = b"") -> None:
        """The answer. What was not read of a request ends its connection."""
        self.close_connection = self.close_connection or status not in (HTTPStatus.OK, HTTPStatus.ACCEPTED)
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- as the library has it
        """Nothing: a log would hold what agents ask."""
