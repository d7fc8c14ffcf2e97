"""Where a browser comes back to after a sign-in: one address of this machine, served until the code is there.

The page is ours and loads nothing, from nowhere. What does not belong to this sign-in (by its `state`) is refused and
changes nothing.
"""

import asyncio
import html
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from sould.agents.mcp.naming import cleaned

HOST: Final = "localhost"
PATH: Final = "/callback"
LARGEST_REQUEST: Final = 16 * 1024
"""Bytes of a request's head."""
REQUEST_S: Final = 10.0
"""Seconds for one request; browsers open connections that they do not use."""
PATIENCE_S: Final = 300.0
"""Seconds in which the user signs in."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>sould</title><link rel="icon" href="data:,">
<style>body{{font:1.1rem system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}}</style></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""
_HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "Referrer-Policy: no-referrer",
    "Cache-Control: no-store",
    "Connection: close",
)


class SignInRefusedError(Exception):
    """There is no sign-in; the sentence is for the user."""


class Code(Struct, frozen=True):
    """What the authorisation server sent with the browser. `iss`: who it says it is (RFC 9207)."""

    code: str
    state: str
    iss: str | None


class _Page(Struct, frozen=True):
    status: HTTPStatus
    title: str
    text: str

    def __bytes__(self) -> bytes:
        body = _PAGE.format(title=html.escape(self.title), text=html.escape(self.text)).encode()
        head = (f"HTTP/1.1 {self.status} {self.status.phrase}", *_HEADERS, f"Content-Length: {len(body)}", "", "")
        return "\r\n".join(head).encode() + body


async def wait_for_code(port: int, server: str, state: str, listening: Callable[[], None]) -> Code:
    """Serve the address until the browser has come back with an answer to the request with this `state`.

    `listening` is called once it can come back.

    Raises:
        SignInRefusedError: it was refused, or nobody came.
        OSError: the port cannot be listened on.
    """
    return await _Callback(server, state).serve(port, listening)


class _Callback:
    """One sign-in."""

    def __init__(self, server: str, state: str) -> None:
        self._server = cleaned(server)
        self._state = state
        self._answer: asyncio.Future[Code | str] = asyncio.get_running_loop().create_future()
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, port: int, listening: Callable[[], None]) -> Code:
        async with asyncio.TaskGroup() as group:

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = group.create_task(self._answered(reader, writer))
                self._connections.add(task)
                task.add_done_callback(self._connections.discard)

            try:
                async with (
                    await asyncio.start_server(connected, HOST, port, limit=LARGEST_REQUEST),
                    asyncio.timeout(PATIENCE_S),
                ):
                    listening()
                    answer = await self._answer
            except TimeoutError:
                answer = f"Nobody signed in within {PATIENCE_S / 60:g} minutes."
            finally:
                for connection in self._connections:
                    connection.cancel()
        if isinstance(answer, str):
            raise SignInRefusedError(answer)
        return answer

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The page is out before the answer counts: who waits for that may end the process."""
        try:
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                page, answer = self._page(head.split(b"\r\n", 1)[0].decode("latin-1"))
                writer.write(bytes(page))
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()
        if answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _page(self, line: str) -> tuple[_Page, Code | str | None]:
        """What is shown for a request, and what it means for the sign-in; None: nothing."""
        method, _, rest = line.partition(" ")
        target = rest.partition(" ")[0]
        if method != "GET" or not target.startswith("/") or target.partition("?")[0] != PATH:
            return _Page(HTTPStatus.NOT_FOUND, "Nothing here", "This address is for signing in only."), None
        given = dict(parse_qsl(urlsplit(target).query))
        if not secrets.compare_digest(given.get("state", "").encode(), self._state.encode()):
            text = "This answer belongs to no sign-in that is under way."
            return _Page(HTTPStatus.BAD_REQUEST, "Not signed in", text), None
        if why := _refusal(given):
            return _Page(HTTPStatus.BAD_REQUEST, "Not signed in", why), why
        text = f"sould can use {self._server} now. You can close this tab."
        return _Page(HTTPStatus.OK, "Signed in", text), Code(given["code"], given["state"], given.get("iss"))


def _refusal(given: Mapping[str, str]) -> str:
    if given.get("error") == "access_denied":
        return "Access was denied."
    if "error" in given:
        said = given.get("error_description") or given["error"]
        return f"The server refused: {' '.join(cleaned(said)[:300].split())}"
    return "" if given.get("code") else "The server sent no code."
