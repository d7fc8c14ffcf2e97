"""OAuth for remote MCP servers with fastmcp's helper, and where its tokens are kept (0600).

Loaded only for a server that somebody signed in to, and by `sould mcp auth`. Tokens appear in no log and no error.
"""

import asyncio
import contextlib
import html
import secrets
import webbrowser
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, cast
from urllib.parse import parse_qsl, urlsplit

import httpx2
import orjson
from fastmcp.client.auth import OAuth
from key_value.aio._utils.managed_entry import ManagedEntry
from key_value.aio.stores.base import BaseStore
from mcp.shared.auth import AuthorizationCodeResult
from msgspec import Struct

from sould.agents.base.errors import JournalFullError, why_refused
from sould.agents.base.privatefile import write_private
from sould.agents.base.processlock import alone_without_blocking
from sould.agents.base.tasks import begun
from sould.agents.mcp.link import UnauthorizedError, http_client
from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.specs import ServerSpec

# Where a browser comes back to after a sign-in: one address of this machine, served until the code is there.
# The page is ours and loads nothing, from nowhere. What does not belong to this sign-in (by its `state`) is refused
# and changes nothing.


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


class ServerSignInRefusedError(Exception):
    """There is no sign-in; the sentence is for the user."""


class _Page(Struct, frozen=True):
    status: HTTPStatus
    title: str
    text: str

    def __bytes__(self) -> bytes:
        body = _PAGE.format(title=html.escape(self.title), text=html.escape(self.text)).encode()
        head = (f"HTTP/1.1 {self.status} {self.status.phrase}", *_HEADERS, f"Content-Length: {len(body)}", "", "")
        return "\r\n".join(head).encode() + body


class _Callback:
    """One sign-in: the request with this `state`."""

    def __init__(self, server: str, state: str) -> None:
        self._server = cleaned(server)
        self._state = state
        self._answer: asyncio.Future[AuthorizationCodeResult | str] = asyncio.get_running_loop().create_future()
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, port: int, listening: Callable[[], None]) -> AuthorizationCodeResult:
        """Serve the address until the browser has come back. `listening` is called once it can.

        Raises:
            ServerSignInRefusedError: it was refused, or nobody came.
            OSError: the port cannot be listened on.
        """
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
            raise ServerSignInRefusedError(answer)
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

    def _page(self, line: str) -> tuple[_Page, AuthorizationCodeResult | str | None]:
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
        came = AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss"))
        return _Page(HTTPStatus.OK, "Signed in", text), came


def _refusal(given: Mapping[str, str]) -> str:
    if given.get("error") == "access_denied":
        return "Access was denied."
    if "error" in given:
        said = given.get("error_description") or given["error"]
        return f"The server refused: {' '.join(cleaned(said)[:300].split())}"
    return "" if given.get("code") else "The server sent no code."


Value = dict[str, Any]
_UNAUTHORIZED, _TOO_MANY, _TROUBLE = 401, 429, 500
_LONG_AGO = 1.0


class RenewalError(Exception):
    """The sign-in is as good as before, but its server did not renew it now."""


class TokenFile(BaseStore):
    """The key-value store the helper wants, in one file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        super().__init__(stable_api=True)
        self._path = path

    async def _get_managed_entry(self, *, collection: str, key: str) -> ManagedEntry | None:
        entry = self._read().get(f"{collection}\n{key}")
        if entry is None:
            return None
        expires: float | None = entry["expires"]
        expires_at = datetime.fromtimestamp(expires, UTC) if expires is not None else None
        return ManagedEntry(value=entry["value"], expires_at=expires_at)

    async def _put_managed_entry(self, *, collection: str, key: str, managed_entry: ManagedEntry) -> None:
        expires_at = managed_entry.expires_at
        expires = expires_at.timestamp() if expires_at is not None else None
        entry = {"value": managed_entry.value_as_dict, "expires": expires}
        self._write(self._read() | {f"{collection}\n{key}": entry})

    async def _delete_managed_entry(self, *, key: str, collection: str) -> bool:
        entries = self._read()
        found = entries.pop(f"{collection}\n{key}", None) is not None
        if found:
            self._write(entries)
        return found

    def _read(self) -> dict[str, Value]:
        try:
            document: object = orjson.loads(self._path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        return cast("dict[str, Value]", document) if isinstance(document, dict) else {}

    def _write(self, entries: dict[str, Value]) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, orjson.dumps(entries))
        except OSError as error:
            raise JournalFullError(f"The sign-in cannot be saved in {self._path}: {why_refused(error)}.") from error


class StoredOAuth(OAuth):
    """Uses and renews a stored sign-in; where a new one is needed it says so instead of opening a browser.

    Whoever renews holds a lock of all processes and looks first whether another has done it, because many servers take
    a refresh token once, and end the sign-in when it comes again.
    """

    asks_user: ClassVar[bool] = False
    """Somebody is there who can sign in anew."""

    def __init__(self, spec: ServerSpec, file: Path, variables: Mapping[str, str]) -> None:
        super().__init__(
            spec.url,
            client_name="sould",
            token_storage=TokenFile(file),
            httpx_client_factory=http_client(variables),
        )
        self._lock = file.with_suffix(".lock")

    async def redirect_handler(self, authorization_url: str) -> None:
        """See `OAuth`."""
        raise UnauthorizedError

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """See `OAuth`. A token that is over, or that the server refuses, is renewed once before the user is needed."""
        await self._take_over()
        if not self.context.is_token_valid() and self.context.can_refresh_token():
            await self._renew(request, "")
        used = self._token
        async with aclosing(super().async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is request and response.status_code == _UNAUTHORIZED and await self._can_do_better(used):
                    break
                try:
                    outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    return
        await self._renew(request, used)
        async with aclosing(super().async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            with contextlib.suppress(StopAsyncIteration):
                while True:
                    outgoing = await flow.asend((yield outgoing))

    @property
    def _token(self) -> str:
        return self.context.current_tokens.access_token if self.context.current_tokens is not None else ""

    async def _take_over(self) -> None:
        """Use what is stored now, whoever stored it."""
        tokens = await self.token_storage_adapter.get_tokens()
        expires = await self.token_storage_adapter.get_token_expiry()
        client_info = await self.token_storage_adapter.get_client_info() or self.context.client_info
        expiry = expires if tokens is not None and tokens.expires_in else None
        self.context = replace(self.context, current_tokens=tokens, token_expiry_time=expiry, client_info=client_info)

    async def _can_do_better(self, refused: str) -> bool:
        await self._take_over()
        return bool(refused) and (self._token not in ("", refused) or self.context.can_refresh_token())

    async def _renew(self, request: httpx2.Request, refused: str) -> None:
        """Once begun it is finished, whoever is cancelled: the server may have taken the old token already."""
        await begun(self._renew_alone(request, refused))

    async def _renew_alone(self, request: httpx2.Request, refused: str) -> None:
        async with alone_without_blocking(self._lock):
            await self._take_over()
            if self.context.is_token_valid() and self._token != refused:
                return  # another was faster
            if refused:
                self.context = replace(self.context, token_expiry_time=_LONG_AGO)
            status = await self._ask_for_tokens(request)
        if self.context.is_token_valid() or self.asks_user:
            return
        if status == _TOO_MANY or status >= _TROUBLE:
            raise RenewalError(f"its sign-in could not be renewed (HTTP {status})")
        raise UnauthorizedError

    async def _ask_for_tokens(self, request: httpx2.Request) -> int:
        """Do what the library does before a request whose token is over; the status of the last answer."""
        status = 0
        probe = httpx2.Request("GET", self.mcp_url, headers=request.headers)
        async with self.httpx_client_factory() as client, aclosing(super().async_auth_flow(probe)) as flow:
            outgoing = await anext(flow)
            while outgoing is not probe:
                response = await client.send(outgoing)
                status = response.status_code
                outgoing = await flow.asend(response)
        return status


ShowAddress: TypeAlias = Callable[[str], None]
"""Shows the user where to sign in. The browser may open it as well."""


class InteractiveOAuth(StoredOAuth):
    """Sends the user to the server's page; `show` is told the address, for terminals without a browser."""

    asks_user = True

    def __init__(
        self,
        spec: ServerSpec,
        file: Path,
        variables: Mapping[str, str],
        *,
        show: ShowAddress,
        browser: bool,
    ) -> None:
        super().__init__(spec, file, variables)
        self._server = spec.name
        self._show = show
        self._browser = browser
        self._address = ""

    async def redirect_handler(self, authorization_url: str) -> None:
        """See `OAuth`; the user is sent there by `callback_handler`, which the library calls next."""
        self._address = authorization_url

    async def callback_handler(self) -> AuthorizationCodeResult:
        """See `OAuth`; the library's own page loads pictures from its makers' site."""
        state = dict(parse_qsl(urlsplit(self._address).query)).get("state", "")
        return await _Callback(self._server, state).serve(self.redirect_port, self._send_user)

    def _send_user(self) -> None:
        self._show(self._address)
        if self._browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(self._address)
