"""Asking a model server: connections that are used again, one request, and its answer read by read.

Its errors are ours, and none holds a key. It never retries and never follows a redirect, and knows nothing of what is sent
and answered. This module loads the HTTP library, which takes 0.15 s: it is imported when a model is first asked.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from sould.agents.llm.failures import status_error
from sould.agents.llm.provider import ProviderConnectionError, ProviderError, ProviderProtocolError
from sould.agents.llm.server import Server

_ERROR_BODY = 64 * 1024
_LONGEST_HEADER = 64 * 1024
"""Some servers answer with policies and cookies of many kilobytes."""
_SLOWEST_UPLOAD = 64 * 1024
"""Bytes a second below which sending a request counts as a stall."""
_LAST_READ_S = 0.02
"""How long to wait for the end of an answer that is over, so that its connection can be used again."""
_KEEPALIVE_S = 60
_ONE_WRITE = 256 * 1024
_MOVED = frozenset({301, 302, 303, 307, 308})

logging.getLogger("aiohttp").setLevel(logging.WARNING)


class Answer:
    """An answer with status 200, as it comes."""

    __slots__ = ("_content", "_server", "kind")

    def __init__(self, response: aiohttp.ClientResponse, server: Server) -> None:
        self.kind = response.headers.get("content-type", "").lower()
        """What the server calls it, in small letters."""
        self._content = response.content
        self._server = server

    async def read(self) -> bytes:
        """All that has come, decoded; nothing at the end.

        Raises:
            ProviderError: it was cut off.
        """
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _cut(error, self._server) from None

    async def read_at_most(self, limit: int) -> bytes:
        """The first `limit` bytes; the rest is left unread. Raises as `read` does."""
        body = bytearray()
        while len(body) < limit and (data := await self.read()):
            body += data
        return bytes(body[:limit])

    async def end(self) -> None:
        """It is over: what follows is waited for for a moment."""
        if not self._content.at_eof():
            with suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_LAST_READ_S):
                    await self._content.readany()


class Connections:
    """Those to one server. Made, used and closed in one loop."""

    def __init__(self, server: Server) -> None:
        settings = server.settings
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=server.trusted, limit=0, keepalive_timeout=_KEEPALIVE_S, resolver=aiohttp.ThreadedResolver()
            ),
            # balancers keep a conversation with one server by them, as with the SDK
            cookie_jar=aiohttp.CookieJar(unsafe=True, quote_cookie=False),
            timeout=aiohttp.ClientTimeout(connect=settings.timeouts.connect_s),
            proxy=URL(settings.network.proxy) if settings.network.proxy else None,
            trust_env=False,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    async def aclose(self) -> None:
        """Close all of them."""
        await self._http.close()

    @asynccontextmanager
    async def ask(self, server: Server, body: Sequence[bytes]) -> AsyncGenerator[Answer, None]:
        """Send a request, `body` piece by piece. Leaving before the end of the answer closes the connection.

        `server`: the one these are to, perhaps with another key.

        Raises:
            ProviderError: no answer came, or one with an error status.
        """
        timeouts, sent = server.settings.timeouts, _Pieces(body)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(timeouts.connect_s + timeouts.first_byte_s + sent.size / _SLOWEST_UPLOAD):
                    asking = self._http.post(server.url, data=sent, headers=server.headers, allow_redirects=False)
                    response = await stack.enter_async_context(asking)
                    answer = Answer(response, server)
                    if response.status != 200:
                        raise await _refused(response, answer, server)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                # "from None": a library's exception holds the request and with it the key
                raise _failure(error, server) from None
            yield answer


class _Pieces(aiohttp.Payload):
    """A body that is sent piece by piece, so that a long one is never put together."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(pieces, content_type="application/json")
        self._length = sum(map(len, pieces))
        self._pieces = pieces if self._length > _ONE_WRITE else (b"".join(pieces),)

    @property
    def size(self) -> int:
        """In bytes."""
        return self._length

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """All of it, as text."""
        return b"".join(self._pieces).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """To the connection."""
        for piece in self._pieces:
            await writer.write(memoryview(piece))  # of bytes, what the system does not take at once would be copied


async def _refused(response: aiohttp.ClientResponse, answer: Answer, server: Server) -> ProviderError:
    """An error status as our error, whatever follows it."""
    body = b""
    with suppress(ProviderError):  # the status alone says enough
        body = await answer.read_at_most(_ERROR_BODY)
    location = response.headers.get("location")
    if response.status in _MOVED and location:
        target = URL(location)
        body = f"to {target.scheme}://{target.host}".encode() if target.host else b""
    return status_error(response.status, response.headers, body, server.redact, server.settings.remedy)


def _failure(error: Exception, server: Server) -> ProviderError:
    if isinstance(error, aiohttp.ServerTimeoutError):
        return server.not_accepted()
    if isinstance(error, TimeoutError):
        return server.not_answered()
    if isinstance(error, ValueError | aiohttp.NonHttpUrlClientError) and not isinstance(error, OSError):
        said = f"The address or a header cannot be used: {_said(error, server)}"
        return ProviderConnectionError(said, kind="connection")
    return server.unreached(error, _said(error, server))


def _cut(error: Exception, server: Server) -> ProviderError:
    detail = _said(error, server)
    if "content-encoding" in detail:
        return ProviderProtocolError(f"{server.host} sent compressed data that cannot be read.", kind="malformed")
    said = f"The model's answer was cut off midway: {detail}"
    return ProviderConnectionError(said, retryable=True, kind="connection")


def _said(error: Exception, server: Server) -> str:
    """Without the address, which some of them end with."""
    return server.redact.line(error.message) if isinstance(error, aiohttp.ClientResponseError) else server.said(error)
