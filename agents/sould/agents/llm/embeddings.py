"""Embeddings, asked for through OpenAI's SDK: it knows what servers answer, and here nobody waits for a first token.

It never retries and never lets a key into an error. The SDK takes half a second and 30 MB to load: import this module when
somebody wants embeddings.
"""

import asyncio
import logging
import os
from collections.abc import Sequence

import httpx2
from openai import APIConnectionError, APIError, AsyncOpenAI, Omit, omit

from sould.agents.llm.openai import OpenAIClient, ProviderSettings
from sould.agents.llm.provider import ProviderProtocolError
from sould.agents.llm.tls import verification

# their debug output holds what is sent
for _library in ("openai", "httpx2", "httpcore2"):
    logging.getLogger(_library).setLevel(logging.WARNING)


async def embed(client: OpenAIClient, model: str, texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text, in their order. Raises ProviderError."""
    timeouts = client.settings.timeouts
    try:
        async with asyncio.timeout(timeouts.connect_s + timeouts.first_byte_s), _sdk(client.settings) as sdk:
            answer = await sdk.embeddings.create(
                model=model,
                input=list(texts),
                encoding_format="float",
                extra_headers=_headers(client.settings),
            )
    except (APIConnectionError, httpx2.HTTPError, TimeoutError, OSError, ValueError) as error:
        raise client.failure(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None
    except APIError as error:
        detail = client.redact.line(error.message)
        raise ProviderProtocolError(f"The server gave no embeddings: {detail}", kind="malformed") from None
    vectors = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
    if len(vectors) != len(texts):
        raise ProviderProtocolError("The server gave another number of embeddings than asked.", kind="malformed")
    return vectors


def _sdk(settings: ProviderSettings) -> AsyncOpenAI:
    """Made for one call, with connections of its own."""
    timeouts, network = settings.timeouts, settings.network
    http = httpx2.AsyncClient(
        trust_env=False,
        proxy=network.proxy or None,
        verify=verification(settings.base_url, network),
        follow_redirects=False,
        timeout=httpx2.Timeout(timeouts.first_byte_s, connect=timeouts.connect_s),
    )
    return AsyncOpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() or "none",
        admin_api_key="",
        webhook_secret="",
        max_retries=0,
        http_client=http,
    )


def _headers(settings: ProviderSettings) -> dict[str, str | Omit]:
    """Ours, and none of those the SDK would take from the daemon's own environment (D14)."""
    stray = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
    headers: dict[str, str | Omit] = {name: omit for name in (*stray, "OpenAI-Organization", "OpenAI-Project") if name}
    if not settings.api_key.get_secret_value():
        headers["Authorization"] = omit
    headers |= {"Accept-Encoding": "identity", "User-Agent": "sould"}
    return headers | {name: value.get_secret_value() for name, value in settings.headers.items()}
