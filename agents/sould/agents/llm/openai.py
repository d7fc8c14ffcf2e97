"""The provider for every server that speaks the OpenAI chat completions API.

The SDK builds, authenticates and sends the request; the answer is read as raw bytes and decoded by `AnswerReader`,
because the SDK's own stream objects cost ten times as much (D10). It never retries, never follows a redirect and never
lets a key into an error. This module loads heavy libraries: import it when a model is first needed.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIError, APITimeoutError, AsyncAPIResponse, AsyncOpenAI, AsyncStream, Omit, omit
from openai.types.chat import ChatCompletionChunk
from pydantic import SecretStr

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
from sould.agents.llm.requests import RequestStyle, media_bytes, request_body
from sould.agents.llm.tls import verification
from sould.agents.llm.watchdog import Watchdog
from sould.agents.unreachable import is_refused, is_unknown_host, why_unreachable
from sould.agents.values import dataclass, field, replace

_ERROR_BODY = 64 * 1024
_WHOLE_BODY = 64 * 1024 * 1024
_SLOWEST_UPLOAD = 64 * 1024
"""Bytes a second below which sending an image counts as a stall."""
_LAST_READ_S = 0.02
"""How long to wait for the end of an answer that is over, so that its connection can be used again."""

# their debug output holds whole conversations
for _library in ("openai", "httpx2", "httpcore2"):
    logging.getLogger(_library).setLevel(logging.WARNING)


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
    """One HTTP client for all models of one server, key and environment.

    Raises:
        ProviderError: the address, the proxy or the certificates cannot be used.
    """

    def __init__(self, settings: ProviderSettings, http: httpx2.AsyncClient | None = None) -> None:
        """`http`: the connections of another client of the same server, which closes them."""
        self.settings = settings
        passwords = (SecretStr(_password(url)) for url in (settings.base_url, settings.network.proxy))
        self.redact = Redactor.of((settings.api_key, *settings.headers.values(), *passwords))
        self._http = http or self._http_client()
        self._sdk = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value() or "none",
            admin_api_key="",
            webhook_secret="",
            max_retries=0,
            timeout=self._http.timeout,
            http_client=self._http,
        )
        self._headers = self._request_headers()

    def signed(self, key: SecretStr) -> "OpenAIClient":
        """The same client with another key; it lives as long as this one."""
        return OpenAIClient(replace(self.settings, api_key=key), self._http)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def post(
        self, body: dict[str, Any]
    ) -> AbstractAsyncContextManager[AsyncAPIResponse[AsyncStream[ChatCompletionChunk]]]:
        """Send a chat request; the answer is raw. The messages go past the SDK's validation, which grows with the conversation."""
        return self._sdk.chat.completions.with_streaming_response.create(
            model=body["model"], messages=[], stream=True, extra_body=body, extra_headers=self._headers
        )

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order. Raises ProviderError."""
        patience = self.settings.timeouts.connect_s + self.settings.timeouts.first_byte_s
        try:
            async with asyncio.timeout(patience):
                answer = await self._sdk.embeddings.create(
                    model=model, input=list(texts), encoding_format="float", extra_headers=self._headers
                )
        except (APIConnectionError, httpx2.HTTPError, TimeoutError, OSError) as error:
            raise self.failure(error) from None
        except APIError as error:
            detail = self.redact.line(error.message)
            raise ProviderProtocolError(f"The server gave no embeddings: {detail}", kind="malformed") from None
        vectors = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        if len(vectors) != len(texts):
            raise ProviderProtocolError("The server gave another number of embeddings than asked.", kind="malformed")
        return vectors

    def failure(self, error: Exception) -> ProviderError:
        """A library's error as ours."""
        cause = error.__cause__ if isinstance(error, APIConnectionError) and error.__cause__ else error
        where = self.redact.line(urlsplit(self.settings.base_url).hostname or self.settings.base_url)
        detail = self.redact.line(str(cause)) or type(cause).__name__
        timeouts = self.settings.timeouts
        if isinstance(cause, httpx2.ConnectTimeout):
            return ProviderTimeoutError(
                f"{where} did not accept a connection within {timeouts.connect_s:g} s.",
                retryable=True,
                kind="connection",
            )
        if isinstance(cause, (httpx2.TimeoutException, TimeoutError, APITimeoutError)):
            return ProviderTimeoutError(
                f"{where} did not start to answer within {timeouts.first_byte_s:g} s.",
                retryable=True,
                kind="connection",
            )
        if isinstance(cause, httpx2.DecodingError):
            return ProviderProtocolError(
                f"{where} sent compressed data that cannot be read: {detail}", kind="malformed"
            )
        if isinstance(cause, (httpx2.UnsupportedProtocol, httpx2.InvalidURL)):
            return ProviderConnectionError(
                f"The address of the model server cannot be used: {detail}", kind="connection"
            )
        certificate = "CERTIFICATE_VERIFY_FAILED" in detail
        return ProviderConnectionError(_unreached(where, error, detail), retryable=not certificate, kind="connection")

    def _http_client(self) -> httpx2.AsyncClient:
        settings = self.settings
        timeouts = settings.timeouts
        try:
            return httpx2.AsyncClient(
                trust_env=False,
                proxy=settings.network.proxy or None,
                verify=verification(settings.base_url, settings.network),
                follow_redirects=False,
                timeout=httpx2.Timeout(connect=timeouts.connect_s, read=None, write=timeouts.progress_s, pool=None),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60),
                event_hooks={"response": [self._refuse_failure]},
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise ProviderConnectionError(
                f"The proxy or certificate settings of this environment cannot be used: {self.redact.line(str(error))}",
                kind="connection",
            ) from None

    def _request_headers(self) -> dict[str, str | Omit]:
        """Ours, and none of those the SDK would take from the daemon's own environment (D14)."""
        stray = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
        headers: dict[str, str | Omit] = {
            name: omit for name in (*stray, "OpenAI-Organization", "OpenAI-Project") if name
        }
        if not self.settings.api_key.get_secret_value():
            headers["Authorization"] = omit
        # compressed streams arrive in blocks instead of as they are written
        headers |= {"Accept-Encoding": "identity", "User-Agent": "sould"}
        return headers | {name: value.get_secret_value() for name, value in self.settings.headers.items()}

    async def _refuse_failure(self, response: httpx2.Response) -> None:
        """Turns an error status into our error before the SDK reads the body, which it would do without bound."""
        if response.status_code == 200:
            return
        body = b""
        with suppress(httpx2.HTTPError, httpx2.StreamError):  # the status alone says enough
            body = await read_at_most(response, _ERROR_BODY)
        if response.has_redirect_location:
            target = urlsplit(response.headers["location"])
            body = f"to {target.scheme}://{target.hostname}".encode() if target.hostname else b""
        # the connections may be lent: what this request was signed with is not always our own key
        _, _, sent = response.request.headers.get("authorization", "").partition(" ")
        redact = Redactor.of((*self.redact.secrets, SecretStr(sent)))
        raise status_error(response.status_code, response.headers, body, redact, self.settings.remedy)


@dataclass(frozen=True, slots=True)
class OpenAIProvider:
    """One model of a server."""

    info: ModelInfo
    client: OpenAIClient
    style: RequestStyle = field(default_factory=RequestStyle)

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """Ask once; see `ChatProvider.stream`."""
        body = request_body(request, self.info, self.style)
        timeouts = self.client.settings.timeouts
        patience = timeouts.connect_s + timeouts.first_byte_s + media_bytes(request) / _SLOWEST_UPLOAD
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(patience):
                    response = await stack.enter_async_context(self.client.post(body))
            except (APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError) as error:
                # "from None": a library's exception holds the request and with it the key
                raise self.client.failure(error) from None
            yield await stack.enter_async_context(aclosing(self._deltas(response.http_response)))

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """See `Embeds`."""
        return await self.client.embed(model, texts)

    async def _deltas(self, response: httpx2.Response) -> DeltaStream:
        reader = AnswerReader(self.client.redact, self.style.reasoning_key)
        kind = response.headers.get("content-type", "").lower()
        progress = self.client.settings.timeouts.progress_s
        if "html" in kind:
            raise malformed(
                "The model server answered with a web page", await read_at_most(response, 1024), self.client.redact
            )
        # one generator less on the way of every read
        reads = response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()
        try:
            async with aclosing(reads), Watchdog(progress) as watchdog:
                if "application/json" in kind:
                    if batch := _whole(reader, await read_at_most(response, _WHOLE_BODY)):
                        yield batch
                else:
                    async for data in reads:
                        watchdog.heard()
                        before = reader.events
                        if batch := reader.feed(data):
                            yield batch
                        if reader.done:
                            await _last_read(reads)
                            break
                        watchdog.wait(progressed=reader.events != before)
        except TimeoutError:
            if not reader.ended:
                raise ProviderTimeoutError(
                    f"The model stopped responding: nothing came for {progress:g} s.",
                    retryable=True,
                    kind="connection",
                ) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            if not reader.ended:
                raise self._cut(error) from None
        if batch := reader.close():
            yield batch
        yield [reader.finish()]

    def _cut(self, error: Exception) -> ProviderError:
        if isinstance(error, httpx2.DecodingError):
            return self.client.failure(error)
        detail = self.client.redact.line(str(error)) or type(error).__name__
        return ProviderConnectionError(
            f"The model's answer was cut off midway: {detail}", retryable=True, kind="connection"
        )


async def read_at_most(response: httpx2.Response, limit: int) -> bytes:
    """The first `limit` decoded bytes of a body; the rest is left unread."""
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as reads:
        async for data in reads:
            body += data
            if len(body) >= limit:
                break
    return bytes(body[:limit])


async def _last_read(reads: AsyncGenerator[bytes, None]) -> None:
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_LAST_READ_S):
            await anext(reads, None)


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
        return urlsplit(url).password or ""
    except ValueError:
        return ""
