"""Embeddings, asked for through OpenAI's SDK: it knows what servers answer, and here nobody waits for a first token.

It never retries and never lets a key into an error. The SDK takes half a second and 30 MB to load: import this module when
somebody wants embeddings.
"""

import asyncio
import logging
import os
from collections.abc import Sequence

import httpx2
from openai import APIConnectionError, APIError, APITimeoutError, AsyncOpenAI, Omit, omit

from sould.agents.base.network.clients import client_to
from sould.agents.llm.provider import ProviderError, ProviderProtocolError
from sould.agents.llm.server import ProviderSettings, Server

logging.getLogger("openai").setLevel(logging.WARNING)  # its debug output holds what is sent


async def embed(server: Server, model: str, texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text, in their order. Raises ProviderError."""
    timeouts = server.settings.timeouts
    try:
        async with asyncio.timeout(timeouts.connect_s + timeouts.first_byte_s), _sdk(server) as sdk:
            answer = await sdk.embeddings.create(
                model=model,
                input=list(texts),
                encoding_format="float",
                extra_headers=_headers(server.settings),
            )
    except (APIConnectionError, httpx2.HTTPError, TimeoutError, OSError, ValueError) as error:
        raise _failure(error, server) from None
    except APIError as error:
        detail = server.redact.line(error.message)
        raise ProviderProtocolError(f"The server gave no embeddings: {detail}", kind="malformed") from None
    vectors = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
    if len(vectors) != len(texts):
        raise ProviderProtocolError("The server gave another number of embeddings than asked.", kind="malformed")
    return vectors


def _failure(error: Exception, server: Server) -> ProviderError:
    cause = (
        error.__cause__ if isinstance(error, APIConnectionError) and isinstance(error.__cause__, Exception) else error
    )
    if isinstance(cause, httpx2.ConnectTimeout):
        return server.not_accepted()
    if isinstance(cause, httpx2.TimeoutException | TimeoutError | APITimeoutError):
        return server.not_answered(server.settings.timeouts.first_byte_s)
    return server.unreached(error, server.said(cause))


def _sdk(server: Server) -> AsyncOpenAI:
    """Made for one call, with connections of its own."""
    settings = server.settings
    timeout = httpx2.Timeout(settings.timeouts.first_byte_s, connect=settings.timeouts.connect_s)
    return AsyncOpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() or "none",
        admin_api_key="",
        webhook_secret="",
        max_retries=0,
        http_client=client_to(settings.base_url, settings.network, timeout),
    )


def _headers(settings: ProviderSettings) -> dict[str, str | Omit]:
    """Ours, and none of those the SDK would take from the daemon's own environment (D14)."""
    stray = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
    headers: dict[str, str | Omit] = {name: omit for name in (*stray, "OpenAI-Organization", "OpenAI-Project") if name}
    if not settings.api_key.get_secret_value():
        headers["Authorization"] = omit
    headers |= {"Accept-Encoding": "identity", "User-Agent": "sould"}
    return headers | {name: value.get_secret_value() for name, value in settings.headers.items()}
