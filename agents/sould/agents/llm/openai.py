"""The provider for every server that speaks the OpenAI chat completions API.

It sends what OpenAI's SDK would send, which tests compare, but for the headers in which that introduces itself and the
user's machine: the SDK takes half a second to load and several times as long for a request (D50). The answer is decoded by
`AnswerReader`, read by read. It never retries, never follows a redirect and never lets a key into an error.
This module loads the HTTP library: import it when a model is first needed.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from pydantic import SecretStr
from yarl import URL

from sould.agents.config import ModelTimeouts
from sould.agents.llm.chunks import AnswerReader
from sould.agents.llm.failures import Redactor, malformed, status_error
from sould.agents.llm.network import NetworkSettings
from sould.agents.llm.provider import (
    ChatRequest,
    Delta,
    DeltaStream,
    ModelInfo,
    ProviderConnectionError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
)
from sould.agents.llm.requests import RequestStyle, request_bytes
from sould.agents.llm.tls import verification
from sould.agents.llm.watchdog import Watchdog
from sould.agents.unreachable import is_refused, is_unknown_host, is_untrusted, why_unreachable
from sould.agents.values import dataclass, field, replace

_ERROR_BODY = 64 * 1024
_WHOLE_BODY = 64 * 1024 * 1024
_LONGEST_HEADER = 64 * 1024
"""Some servers answer with policies and cookies of many kilobytes."""
_SLOWEST_UPLOAD = 64 * 1024
"""Bytes a second below which sending a request counts as a stall."""
_LAST_READ_S = 0.02
"""How long to wait for the end of an answer that is over, so that its connection can be used again."""
_KEEPALIVE_S = 60
_ONE_WRITE = 256 * 1024
_HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "sould",
    "accept-encoding": "identity",  # compressed streams arrive in blocks instead of as they are written
}
_MOVED = frozenset({301, 302, 303, 307, 308})

logging.getLogger("aiohttp").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Where a server is and how to reach it. Secrets are `SecretStr`; headers may hold some."""

    base_url: str
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    network: NetworkSettings = field(default_factory=NetworkSettings)
    timeouts: ModelTimeouts = field(default_factory=ModelTimeouts)
    remedy: str = field(default="", compare=False)
    """What to do about a refused key: a sentence that names where it comes from."""


class OpenAIClient:
    """The connections to one server, for all its models, with one key and environment. Made and closed while a loop runs.

    Raises:
        ProviderError: the address, the proxy or the certificates cannot be used.
    """

    def __init__(self, settings: ProviderSettings, http: aiohttp.ClientSession | None = None) -> None:
        """`http`: the connections of another client of the same server, which closes them."""
        self.settings = settings
        passwords = (SecretStr(_password(url)) for url in (settings.base_url, settings.network.proxy))
        self.redact = Redactor.of((settings.api_key, *settings.headers.values(), *passwords))
        address = self._address()
        self._url, self._headers = address.with_user(None), self._request_headers(address)
        self._http = http or self._connections()

    def signed(self, key: SecretStr) -> "OpenAIClient":
        """The same client with another key; it lives as long as this one."""
        return OpenAIClient(replace(self.settings, api_key=key), self._http)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.close()

    @asynccontextmanager
    async def post(self, body: Sequence[bytes]) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        """Send a chat request; the answer that begins well. Leaving before its end closes the connection.

        Raises:
            ProviderError: none came, or one with an error status.
        """
        timeouts, sent = self.settings.timeouts, _Pieces(body)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(timeouts.connect_s + timeouts.first_byte_s + sent.size / _SLOWEST_UPLOAD):
                    asking = self._http.post(self._url, data=sent, headers=self._headers, allow_redirects=False)
                    response = await stack.enter_async_context(asking)
                    if response.status != 200:
                        raise await self._refused(response)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                # "from None": a library's exception holds the request and with it the key
                raise self.failure(error) from None
            yield response

    def failure(self, error: Exception) -> ProviderError:
        """A library's error as ours."""
        timeouts, detail = self.settings.timeouts, self._said(error)
        where = self.redact.line(self._url.host or self.settings.base_url)
        if isinstance(error, aiohttp.ServerTimeoutError):
            said = f"{where} did not accept a connection within {timeouts.connect_s:g} s."
            return ProviderTimeoutError(said, retryable=True, kind="connection")
        if isinstance(error, TimeoutError):
            said = f"{where} did not start to answer within {timeouts.first_byte_s:g} s."
            return ProviderTimeoutError(said, retryable=True, kind="connection")
        if isinstance(error, ValueError | aiohttp.NonHttpUrlClientError) and not isinstance(error, OSError):
            return ProviderConnectionError(f"The address or a header cannot be used: {detail}", kind="connection")
        return ProviderConnectionError(
            _unreached(where, error, detail), retryable=not is_untrusted(error), kind="connection"
        )

    def cut(self, error: Exception) -> ProviderError:
        """A library's error in the middle of an answer as ours."""
        detail = self._said(error)
        if "content-encoding" in detail:
            return ProviderProtocolError(
                f"{self._url.host} sent compressed data that cannot be read.", kind="malformed"
            )
        return ProviderConnectionError(
            f"The model's answer was cut off midway: {detail}", retryable=True, kind="connection"
        )

    def _said(self, error: Exception) -> str:
        text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
        return self.redact.line(text) or type(error).__name__

    def _address(self) -> URL:
        base_url = self.settings.base_url
        try:
            address = URL(f"{base_url.rstrip('/')}/chat/completions")
            if address.scheme not in {"http", "https"} or not address.host:
                raise ValueError(f"{base_url!r} does not begin with https:// or http:// and a name")
        except ValueError as error:
            detail = self.redact.line(str(error))
            raise ProviderConnectionError(
                f"The address of the model server cannot be used: {detail}", kind="connection"
            ) from None
        return address

    def _connections(self) -> aiohttp.ClientSession:
        settings = self.settings
        try:
            proxy = URL(settings.network.proxy) if settings.network.proxy else None
            if proxy is not None and proxy.scheme not in {"http", "https"}:
                raise ValueError(f"a proxy of the kind {proxy.scheme!r} is not supported")
            trusted = verification(settings.base_url, settings.network)
        except (OSError, ValueError) as error:
            raise ProviderConnectionError(
                f"The proxy or certificate settings of this environment cannot be used: {self.redact.line(str(error))}",
                kind="connection",
            ) from None
        if isinstance(trusted, ssl.SSLContext):
            trusted.set_alpn_protocols(["http/1.1"])
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=trusted, limit=0, keepalive_timeout=_KEEPALIVE_S, resolver=aiohttp.ThreadedResolver()
            ),
            # balancers keep a conversation with one server by them, as with the SDK
            cookie_jar=aiohttp.CookieJar(unsafe=True, quote_cookie=False),
            timeout=aiohttp.ClientTimeout(connect=settings.timeouts.connect_s),
            proxy=proxy,
            trust_env=False,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    def _request_headers(self, address: URL) -> dict[str, str]:
        key = self.settings.api_key.get_secret_value()
        headers = {"connection": "keep-alive"} | ({"authorization": f"Bearer {key}"} if key else {}) | _HEADERS
        headers |= {name.lower(): value.get_secret_value() for name, value in self.settings.headers.items()}
        if address.user or address.password:
            headers["authorization"] = aiohttp.encode_basic_auth(address.user or "", address.password or "")
        return headers

    async def _refused(self, response: aiohttp.ClientResponse) -> ProviderError:
        """An error status as our error, whatever follows it."""
        body = b""
        with suppress(aiohttp.ClientError, OSError):  # the status alone says enough
            body = await read_at_most(response, _ERROR_BODY)
        location = response.headers.get("location")
        if response.status in _MOVED and location:
            target = URL(location)
            body = f"to {target.scheme}://{target.host}".encode() if target.host else b""
        return status_error(response.status, response.headers, body, self.redact, self.settings.remedy)


@dataclass(frozen=True, slots=True)
class OpenAIProvider:
    """One model of a server."""

    info: ModelInfo
    client: OpenAIClient
    style: RequestStyle = field(default_factory=RequestStyle)

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """Ask once; see `ChatProvider.stream`."""
        async with (
            self.client.post(request_bytes(request, self.info, self.style)) as response,
            aclosing(self._deltas(response)) as deltas,
        ):
            yield deltas

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """See `Embeds`."""
        # the SDK takes half a second to load and 30 MB: only where somebody wants embeddings
        from sould.agents.llm.embeddings import embed  # noqa: PLC0415

        return await embed(self.client, model, texts)

    async def _deltas(self, response: aiohttp.ClientResponse) -> DeltaStream:
        reader = AnswerReader(self.client.redact, self.style.reasoning_key)
        kind = response.headers.get("content-type", "").lower()
        progress = self.client.settings.timeouts.progress_s
        if "html" in kind:
            raise malformed(
                "The model server answered with a web page", await read_at_most(response, 1024), self.client.redact
            )
        try:
            async with Watchdog(progress) as watchdog:
                if "application/json" in kind:
                    if batch := _whole(reader, await read_at_most(response, _WHOLE_BODY)):
                        yield batch
                    if reader.trouble:
                        raise reader.trouble
                else:
                    while not reader.done and (data := await response.content.readany()):
                        watchdog.heard()
                        before = reader.events
                        if batch := reader.feed(data):
                            yield batch
                        if reader.trouble:
                            raise reader.trouble
                        watchdog.wait(progressed=reader.events != before)
        except TimeoutError:
            if not reader.ended:
                raise ProviderTimeoutError(
                    f"The model stopped responding: nothing came for {progress:g} s.",
                    retryable=True,
                    kind="connection",
                ) from None
        except (aiohttp.ClientError, OSError) as error:
            if not reader.ended:
                raise self.client.cut(error) from None
        if reader.done:
            await _end(response.content)
        if batch := reader.close():
            yield batch
        yield [reader.finish()]


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


async def read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The first `limit` decoded bytes of a body; the rest is left unread."""
    body = bytearray()
    while len(body) < limit and (data := await response.content.readany()):
        body += data
    return bytes(body[:limit])


async def _end(content: aiohttp.StreamReader) -> None:
    if content.at_eof():
        return
    with suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(_LAST_READ_S):
            await content.readany()


def _whole(reader: AnswerReader, body: bytes) -> list[Delta]:
    """Some servers answer a request for a stream with one object, and some call a stream JSON."""
    return reader.feed_whole(body) if body.lstrip().startswith((b"{", b"[")) else reader.feed(body)


def _unreached(where: str, error: Exception, detail: str) -> str:
    if is_unknown_host(error):
        return f"Cannot find {where}. Are you offline?"
    if is_refused(error):
        return f"Cannot reach {where}: connection refused. Is the server running?"
    return f"Cannot reach {where}: {why_unreachable(error) or detail}."


def _password(url: str) -> str:
    try:
        return URL(url).password or ""
    except ValueError:
        return ""
