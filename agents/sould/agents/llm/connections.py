"""Asking a model server: connections that are used again, one request, and its answer as it comes.

Its errors are ours, and none holds a key. It never retries and never follows a redirect, and knows nothing of what is sent
and answered. This module loads the HTTP library: it is imported when a model is first asked.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx2

from sould.agents.base.network.clients import client_to
from sould.agents.base.network.settings import is_private, is_private_address, told_by_name
from sould.agents.base.tasks import beside
from sould.agents.llm.provider import ProviderConnectionError, ProviderError, ProviderProtocolError
from sould.agents.llm.provider_errors import status_error
from sould.agents.llm.server import Server

logger = logging.getLogger(__name__)
_ERROR_BODY = 64 * 1024
_SLOWEST_UPLOAD = 64 * 1024
"""Bytes a second below which sending a request counts as a stall."""
_LAST_READ_S = 0.02
"""How long to wait for the end of an answer that is over, so that its connection can be used again."""
_ONE_WRITE = 256 * 1024
_MOST_WAITING = 1024 * 1024
"""Bytes of an answer that wait to be taken; more are left with the system."""
_CHECK_BEFORE_S = 5.0
"""How long before the limit we check whether the server is private and may take longer."""
_MOVED = frozenset({301, 302, 303, 307, 308})


class Answer:
    """An answer as it comes: one task receives it, another takes what has come meanwhile.

    The library gives each chunk of HTTP by itself. A fast server sends hundreds of them in one read, and whoever shows them
    wants them together.
    """

    def __init__(self, response: httpx2.Response, server: Server) -> None:
        self.kind = response.headers.get("content-type", "").lower()
        """What the server calls it, in small letters."""
        self.is_private = _is_private(response, server)
        """Whether its server is known to be in a private network; False where a proxy hides it."""
        self._response = response
        self._server = server
        self._waiting = bytearray()
        self._came = asyncio.Event()
        self._taken = asyncio.Event()
        self._over = False
        self._error: Exception | None = None

    async def receive(self) -> None:
        """Receive it to its end; runs beside those who read."""
        try:
            async for piece in self._pieces():
                self._waiting += piece
                self._came.set()
                if len(self._waiting) > _MOST_WAITING:
                    self._taken.clear()
                    await self._taken.wait()
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            self._error = error
        finally:
            self._over = True
            self._came.set()

    def _pieces(self) -> AsyncIterator[bytes]:
        """We ask for no compression, which would hold text back; some servers compress nevertheless."""
        is_plain = self._response.headers.get("content-encoding", "identity") == "identity"
        return self._response.aiter_raw() if is_plain else self._response.aiter_bytes()

    async def read(self) -> bytes:
        """All that has come, decoded; nothing at the end.

        Raises:
            ProviderError: it was cut off.
        """
        while not self._waiting and not self._over:
            self._came.clear()
            await self._came.wait()
        if not self._waiting and self._error is not None:
            raise _cut(self._error, self._server) from None
        data = bytes(self._waiting)
        self._waiting.clear()
        self._taken.set()
        return data

    async def read_at_most(self, limit: int) -> bytes:
        """The first `limit` bytes; the rest is left unread. Raises as `read` does."""
        body = bytearray()
        while len(body) < limit and (data := await self.read()):
            body += data
        return bytes(body[:limit])

    async def end(self) -> None:
        """It is over: what follows is waited for for a moment."""
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(_LAST_READ_S):
                while not self._over:
                    await self.read()


class Connections:
    """Those to one server. Made, used and closed in one loop.

    Balancers keep a conversation with one server by cookies, which the client returns as the SDK would.

    Raises:
        NetworkSettingsError: a proxy or certificates cannot be used.
    """

    def __init__(self, server: Server) -> None:
        settings = server.settings
        timeout = httpx2.Timeout(None, connect=settings.timeouts.connect_s)
        self._http = client_to(server.url, settings.network, timeout)

    async def aclose(self) -> None:
        """Close all of them."""
        await self._http.aclose()

    @asynccontextmanager
    async def ask(self, server: Server, body: Sequence[bytes]) -> AsyncGenerator[Answer, None]:
        """Send a request, `body` piece by piece. Leaving before the end of the answer closes the connection.

        `server`: the one these are to, perhaps with another key.

        Raises:
            ProviderError: no answer came, or one with an error status.
        """
        began = asyncio.get_running_loop().time()
        timeouts, size = server.settings.timeouts, sum(map(len, body))
        limit = timeouts.connect_s + timeouts.first_byte_s + size / _SLOWEST_UPLOAD
        logger.debug("sending %d bytes to %s", size, server.host)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limit) as waiting, beside(_extended(waiting, limit, server), "patience"):
                    headers = [(name.encode(), value.encode()) for name, value in server.headers.items()]
                    headers.append((b"content-length", b"%d" % size))
                    asking = self._http.stream("POST", server.url, content=_in_pieces(body, size), headers=headers)
                    response = await stack.enter_async_context(asking)
                    answer = Answer(response, server)
                    took = asyncio.get_running_loop().time() - began
                    logger.debug(
                        "%s answered with status %d after %d ms", server.host, response.status_code, 1000 * took
                    )
                    await stack.enter_async_context(beside(answer.receive(), "answer"))
                    if response.status_code != 200:
                        raise await _refused(response, answer, server)
            except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError) as error:
                # "from None": a library's exception holds the request and with it the key
                raise _failure(error, server, asyncio.get_running_loop().time() - began) from None
            yield answer


async def _extended(waiting: asyncio.Timeout, limit: float, server: Server) -> None:
    """Shortly before the limit, give a server in a private network its longer one: it reads the prompt."""
    began = asyncio.get_running_loop().time()
    longer = server.settings.timeouts.private_s
    await asyncio.sleep(limit - min(_CHECK_BEFORE_S, limit / 2))
    if longer > limit and await is_private(server.host):
        waiting.reschedule(began + longer)


def _is_private(response: httpx2.Response, server: Server) -> bool:
    told = told_by_name(server.host)
    if told is not None or server.is_proxied:
        return bool(told)
    stream = response.extensions.get("network_stream")
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    return bool(peer) and bool(is_private_address(str(peer[0])))


async def _in_pieces(body: Sequence[bytes], size: int) -> AsyncGenerator[bytes, None]:
    """So that a long one is never put together."""
    for piece in body if size > _ONE_WRITE else (b"".join(body),):
        yield piece


async def _refused(response: httpx2.Response, answer: Answer, server: Server) -> ProviderError:
    """An error status as our error, whatever follows it."""
    body = b""
    with suppress(ProviderError):  # the status alone says enough
        body = await answer.read_at_most(_ERROR_BODY)
    location = response.headers.get("location")
    if response.status_code in _MOVED and location:
        target = urlsplit(location)
        body = f"to {target.scheme}://{target.hostname}".encode() if target.hostname else b""
    return status_error(response.status_code, response.headers, body, server.redact, server.asked)


def _failure(error: Exception, server: Server, seconds: float) -> ProviderError:
    if isinstance(error, httpx2.ConnectTimeout):
        return server.not_accepted()
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return server.not_answered(seconds)
    if isinstance(error, httpx2.LocalProtocolError | httpx2.InvalidURL | ValueError) and not isinstance(error, OSError):
        # its words would show the header
        return ProviderConnectionError(f"The address or a header for {server.host} cannot be used.", kind="connection")
    return server.unreached(error, server.said(error))


def _cut(error: Exception, server: Server) -> ProviderError:
    if isinstance(error, httpx2.DecodingError):
        return ProviderProtocolError(f"{server.host} sent compressed data that cannot be read.", kind="malformed")
    said = f"The model's answer was cut off midway: {server.said(error)}"
    return ProviderConnectionError(said, retryable=True, kind="connection")
