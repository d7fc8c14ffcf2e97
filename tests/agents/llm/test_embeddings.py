"""Embeddings of a model's server: order kept, failures as provider errors."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import orjson
import pytest

from sould.agents.llm.provider import Embeds, ProviderError
from soultest.llmclient import KEY, provider_for


@asynccontextmanager
async def server(status: int, body: object) -> AsyncGenerator[tuple[str, list[bytes]], None]:
    """Answers every request alike and keeps the bodies."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(
            int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length")
        )
        asked.append(await reader.readexactly(size))
        data = orjson.dumps(body)
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            % (status, len(data))
        )
        writer.write(data)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", asked


async def test_vectors_come_in_the_order_of_the_texts() -> None:
    data = [{"object": "embedding", "index": at, "embedding": [float(at), 1.0]} for at in (1, 0)]
    body = {"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    async with server(200, body) as (url, asked), provider_for(url) as provider:
        assert isinstance(provider, Embeds)
        assert await provider.embed("e", ["a", "b"]) == [[0.0, 1.0], [1.0, 1.0]]
        sent = orjson.loads(asked[0])
    assert (sent["model"], sent["input"]) == ("e", ["a", "b"])


async def test_a_server_without_embeddings_is_a_provider_error_without_the_key() -> None:
    async with (
        server(404, {"error": {"message": f"no such route for {KEY}"}}) as (url, _),
        provider_for(url) as provider,
    ):
        with pytest.raises(ProviderError) as caught:
            await provider.embed("e", ["a"])
    assert KEY not in caught.value.message


async def test_too_few_vectors_are_a_provider_error() -> None:
    nothing: list[object] = []
    body = {"object": "list", "model": "e", "data": nothing, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    async with server(200, body) as (url, _), provider_for(url) as provider:
        with pytest.raises(ProviderError):
            await provider.embed("e", ["a"])
