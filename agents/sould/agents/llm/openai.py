"""The provider for every server that speaks the OpenAI chat completions API.

It sends what OpenAI's SDK would send, which tests compare, but for the headers in which that introduces itself and the
user's machine: the SDK takes half a second to load and several times as long for a request (D50). The answer is decoded by
`AnswerReader`, read by read. It never retries and never lets a key into an error. A session opens without the HTTP library.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import SecretStr

from sould.agents.base.importing import load
from sould.agents.base.network.settings import NetworkSettingsError
from sould.agents.base.tasks import Watchdog
from sould.agents.llm.chunks import AnswerReader
from sould.agents.llm.provider import (
    ChatRequest,
    Delta,
    DeltaStream,
    ModelInfo,
    ProviderError,
    ProviderStatusError,
    ProviderTimeoutError,
)
from sould.agents.llm.provider_errors import is_unknown_model, malformed
from sould.agents.llm.quirks import Quirks, leaves_no_room
from sould.agents.llm.requests import RequestStyle, request_bytes
from sould.agents.llm.server import Check, ProviderSettings, Server

if TYPE_CHECKING:
    from sould.agents.llm.connections import Answer, Connections

_log = logging.getLogger(__name__)

PATH: Final = "/chat/completions"
CONNECTIONS = "sould.agents.llm.connections"
"""Slow to import, and needed when a model is first asked."""
_MOST_LEARNED = 4
"""Refusals of one request that are learned from."""
_WHOLE_BODY = 64 * 1024 * 1024


def address(given: str) -> str:
    """Of a server, whatever users copied."""
    return given.rstrip("/").removesuffix(PATH)


def bearer(key: SecretStr) -> dict[str, str]:
    """The headers that hold a key; none without one."""
    secret = key.get_secret_value()
    return {"authorization": f"Bearer {secret}"} if secret else {}


class OpenAIClient:
    """One server, for all its models, with one key and environment. Its connections are made when it is first asked.

    Raises:
        ConfigError: the address, a header, the proxy or the certificates cannot be used.
    """

    needs = CONNECTIONS

    def __init__(self, settings: ProviderSettings, lender: "OpenAIClient | None" = None) -> None:
        """`lender`: another client of the same server, whose connections are used."""
        self.settings = replace(settings, base_url=address(settings.base_url))
        self.server = Server(self.settings, PATH, bearer(settings.api_key))
        self._lender = lender
        self._connections: Connections | None = None
        self._quirks: dict[str, Quirks] = lender._quirks if lender is not None else {}

    def signed(self, key: SecretStr) -> "OpenAIClient":
        """The same client with another key; it lives as long as this one."""
        return OpenAIClient(replace(self.settings, api_key=key), self)

    def model(self, info: ModelInfo, style: RequestStyle) -> "OpenAIProvider":
        """One of its models."""
        return OpenAIProvider(info, self, style)

    async def check(self, provider: str, timeout_s: float) -> Check:
        """See `ModelClient`: it is asked for its list of models."""
        await load("sould.agents.llm.openai_check")
        from sould.agents.llm.openai_check import check  # noqa: PLC0415 -- as `CONNECTIONS` says

        return await check(self.server, provider, timeout_s)

    async def connections(self) -> "Connections":
        """Those that are used again."""
        if self._lender is not None:
            return await self._lender.connections()
        if self._connections is None:
            try:
                await load(CONNECTIONS)
            except ImportError as error:
                raise ProviderError(
                    f"What asks model servers cannot be loaded ({error}); run `sould restart`."
                ) from error
            from sould.agents.llm.connections import Connections  # noqa: PLC0415 -- as `CONNECTIONS` says

            try:
                self._connections = self._connections or Connections(self.server)
            except NetworkSettingsError as error:  # it could be used when the session opened
                raise ProviderError(f"The model server cannot be asked: {error}.", kind="config") from None
        return self._connections

    def quirks(self, model: str) -> Quirks:
        """What is known of a model."""
        return self._quirks.get(model, Quirks())

    def learn(self, model: str, error: ProviderStatusError) -> bool:
        """Whether a refusal told something new, so that it is worth asking again."""
        learned = self.quirks(model).learned(error)
        if learned is not None:
            _log.info("%s of %s: %s; asking again as %s", model, self.server.host, error.message, learned)
            self._quirks[model] = learned
        return learned is not None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._connections is not None:
            await self._connections.aclose()


class OpenAIProvider(Struct, frozen=True):
    """One model of a server."""

    info: ModelInfo
    client: OpenAIClient
    style: RequestStyle = field(default_factory=RequestStyle)

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """Ask once; see `ChatProvider.stream`."""
        async with AsyncExitStack() as stack:
            answer = await self._answer(request, stack)
            yield await stack.enter_async_context(aclosing(self._deltas(answer)))

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """See `Embeds`."""
        await load("sould.agents.llm.embeddings")
        from sould.agents.llm.embeddings import embed  # noqa: PLC0415 -- the SDK: half a second and 30 MB, for this alone

        return await embed(self.client.server, model, texts)

    async def _answer(self, request: ChatRequest, stack: AsyncExitStack) -> "Answer":
        """Ask, and ask again while a refusal tells how this server wants to be asked."""
        connections, model = await self.client.connections(), self.info.model
        refused, style = 0, self.style
        while True:
            style = replace(style, quirks=self.client.quirks(model))
            body = request_bytes(request, self.info, style)
            try:
                return await stack.enter_async_context(connections.ask(self.client.server, body))
            except ProviderStatusError as error:
                refused += 1
                if style.max_output_tokens is not None and leaves_no_room(error):
                    style = replace(style, max_output_tokens=None)
                    continue
                # another request may have learned it meanwhile
                learned = self.client.learn(model, error) or self.client.quirks(model) != style.quirks
                if not learned or refused > _MOST_LEARNED:
                    raise self._told(error) from error.__cause__

    def _told(self, error: ProviderStatusError) -> ProviderStatusError:
        """With what to do about a model that the server does not have."""
        if not is_unknown_model(error.said):
            return error
        correct = f"Correct `{self.info.setting}` (`sould config edit`); " if self.info.setting else ""
        return error.with_remedy(f"{correct}`sould doctor models` names what the server has.")

    async def _deltas(self, answer: "Answer") -> DeltaStream:
        reader = AnswerReader(self.client.server.redact, self.style.reasoning_key)
        timeouts = self.client.settings.timeouts
        progress = timeouts.progress_s
        first = max(timeouts.private_s, progress) if answer.is_private else progress
        if "html" in answer.kind:
            sample = b""
            with suppress(TimeoutError):
                async with asyncio.timeout(progress):
                    sample = await answer.read_at_most(1024)
            raise malformed("The model server answered with a web page", sample, self.client.server.redact)
        watchdog = Watchdog(first)
        try:
            async with watchdog:
                if "application/json" in answer.kind:
                    if batch := _whole(reader, await answer.read_at_most(_WHOLE_BODY)):
                        yield batch
                else:
                    while not reader.done and (data := await _read(answer, reader)):
                        watchdog.heard()
                        before = reader.signs
                        if batch := reader.feed(data):
                            watchdog.shorten(progress)
                            yield batch
                        if reader.trouble:
                            break
                        watchdog.wait(progressed=reader.signs != before)
        except TimeoutError:
            if not reader.ended:
                said = f"The model stopped responding: nothing came for {watchdog.limit:g} s."
                raise ProviderTimeoutError(said, retryable=True, kind="connection") from None
        if reader.trouble:
            raise reader.trouble
        if reader.done:
            await answer.end()
        if batch := reader.close():
            yield batch
        yield [reader.finish()]


async def _read(answer: "Answer", reader: AnswerReader) -> bytes:
    try:
        return await answer.read()
    except ProviderError:
        if not reader.ended:
            raise
        return b""


def _whole(reader: AnswerReader, body: bytes) -> list[Delta]:
    """Some servers answer a request for a stream with one object, and some call a stream JSON."""
    return reader.feed_whole(body) if body.lstrip().startswith((b"{", b"[")) else reader.feed(body)
