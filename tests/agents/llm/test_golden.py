"""What is sent is what OpenAI's SDK would send, for every type of provider (D50).

The same request goes to a server that writes it down, once as we send it and once through the SDK, with the environment's
proxy where the address is a vendor's own.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from openai import AsyncOpenAI, Omit, omit
from pydantic import SecretStr

from sould.agents.base.config import Config
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.openai import OpenAIProvider
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ChatMessage, ChatRequest, ToolSpec
from sould.agents.llm.registry import CHAT, GIVEN, TYPES
from sould.agents.llm.requests import request_body, request_bytes
from sould.agents.llm.retry import RetryPolicy
from sould.agents.wire.content import FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall
from soultest.llmclient import ask

OTHERWISE = {
    "user-agent": "we are not the SDK, and a vendor that looks at its logs should see who asked",
    "x-stainless-lang": "says that the SDK asks; no server needs it",
    "x-stainless-package-version": "the version of a library that does not send this",
    "x-stainless-os": "tells about the user's machine (no telemetry)",
    "x-stainless-arch": "tells about the user's machine (no telemetry)",
    "x-stainless-runtime": "tells about the user's machine (no telemetry)",
    "x-stainless-runtime-version": "tells about the user's machine (no telemetry)",
    "x-stainless-async": "says how the SDK was called",
    "x-stainless-raw-response": "says how the SDK was called",
    "x-stainless-retry-count": "retries are ours, and the SDK would always say 0",
}
"""The headers that differ from the SDK's, and why. All others are the same."""
VENDORS = {
    "openai_compatible": "http://llm.example/v1",
    "kimi": "http://api.moonshot.ai/v1",
    "openai": "http://api.openai.com/v1",
    "openai_legacy": "http://api.openai.com/v1/",
    "openai_responses": "http://openrouter.ai/api/v1",
    "anthropic": "http://api.anthropic.com/v1",
    "google_genai": "http://generativelanguage.googleapis.com/v1beta/openai",
    "gemini": "http://generativelanguage.googleapis.com/v1beta/openai/",
}
"""An address for each type that asks a server; without TLS, so that a proxy sees what is sent."""
ANSWER = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PNG = "data:image/png;base64,aGk="
CALL = ToolCall(id="c1", function=FunctionCall(name="Look", arguments='{"path":"ä b"}'))
TALK = (
    ChatMessage("user", (TextPart(text='Größe 🌍 "quoted"\x1b \u2028\n\ttab'), ImagePart(image_url=MediaUrl(url=PNG)))),
    ChatMessage("assistant", (ThinkPart(think="hm"), TextPart(text="I look.")), (CALL,)),
    ChatMessage("tool", (TextPart(text="out"), ImagePart(image_url=MediaUrl(url=PNG))), tool_call_id="c1"),
    ChatMessage("user", (TextPart(text="and?"),)),
)
TOOL = ToolSpec("Look", "Looks.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
REQUEST = ChatRequest("You are an agent.", TALK, (TOOL,), "high", "session-1")


@asynccontextmanager
async def recorder() -> AsyncGenerator[tuple[str, list[tuple[str, list[tuple[str, str]], bytes]]], None]:
    """Where a server listens, and what it was sent: the request line, the headers as written, and the body."""
    sent: list[tuple[str, list[tuple[str, str]], bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").rstrip().split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (each.partition(":") for each in lines)]
        sent.append((line, headers, await reader.readexactly(int(dict(headers)["content-length"]))))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: seat=4 2; Path=/\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
        )
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent


def written(kind: str, base_url: str, headers: Mapping[str, str], key: str) -> Config:
    model = {
        "provider": "p",
        "model": "some-model",
        "max_context_size": 8000,
        "capabilities": ["thinking", "image_in"],
        "temperature": 0.7,
        "top_p": 1.0,
        "max_output_tokens": 4096,
    }
    provider = {"type": kind, "base_url": base_url, "api_key": key, "custom_headers": headers}
    return Config.model_validate({"models": {"m": model}, "providers": {"p": provider}})


async def nothing(_url: str, _key: SecretStr) -> tuple[()]:
    return ()


async def ask_ours(config: Config, environment: Mapping[str, str], times: int = 1) -> OpenAIProvider:
    pool = ProviderPool(FixedConfig(config), probe=nothing)
    try:
        provider = await pool.get("m", environment)
        assert isinstance(provider, OpenAIProvider)
        for _ in range(times):
            outcome = await ask(provider, "", RetryPolicy(attempts=1), REQUEST)
            assert outcome.error is None
        return provider
    finally:
        await pool.aclose()


async def ask_through_sdk(provider: OpenAIProvider, body: dict[str, Any], times: int = 1) -> None:
    """As the SDK is meant to be used: what it does not know goes into `extra_body`."""
    settings = provider.client.settings
    key = settings.api_key.get_secret_value()
    headers: dict[str, str | Omit] = {"Accept-Encoding": "identity"} | ({} if key else {"Authorization": omit})
    headers |= {name: value.get_secret_value() for name, value in settings.headers.items()}
    async with httpx2.AsyncClient(proxy=settings.network.proxy_for(settings.base_url) or None, trust_env=False) as http:
        sdk = AsyncOpenAI(base_url=settings.base_url, api_key=key or "none", max_retries=0, http_client=http)
        own = ("thinking", "reasoning")
        known = {name: value for name, value in body.items() if name not in own}
        extra = {name: value for name, value in body.items() if name in own}
        for _ in range(times):
            create: Any = sdk.chat.completions.with_streaming_response.create
            async with create(**known, extra_body=extra or None, extra_headers=headers, timeout=None) as response:
                await response.read()


def compare(ours: tuple[str, list[tuple[str, str]], bytes], sdk: tuple[str, list[tuple[str, str]], bytes]) -> None:
    assert ours[0] == sdk[0]
    assert orjson.loads(ours[2]) == orjson.loads(sdk[2])
    same = [[pair for pair in each[1] if pair[0] not in {*OTHERWISE, "content-length"}] for each in (ours, sdk)]
    assert sorted(same[0]) == sorted(same[1])
    assert dict(ours[1])["content-length"] == str(len(ours[2]))
    assert {name for name, _ in ours[1]} & {*OTHERWISE} <= {"user-agent"}
    assert {name for name, _ in sdk[1]} & {*OTHERWISE} == {*OTHERWISE}


@pytest.mark.parametrize("kind", VENDORS)
async def test_every_type_of_provider_is_asked_as_by_the_sdk(kind: str) -> None:
    async with recorder() as (url, sent):
        provider = await ask_ours(written(kind, VENDORS[kind], {"X-Mine": "yes"}, "sk-key"), {"HTTP_PROXY": url})
        await ask_through_sdk(provider, request_body(REQUEST, provider.info, provider.style))
    compare(*sent)
    assert sent[0][0] == f"POST {VENDORS[kind].rstrip('/')}/chat/completions HTTP/1.1"


def test_every_type_that_asks_a_server_is_compared() -> None:
    assert {*VENDORS} == {name for name, each in TYPES.items() if each.protocol == CHAT and name != GIVEN}


@pytest.mark.parametrize(
    ("path", "headers", "key"),
    [
        ("/v1", {}, ""),
        ("/v1", {"Authorization": "Token mine"}, ""),
        ("/v1", {"authorization": "Token mine", "USER-AGENT": "me", "Accept": "text/event-stream"}, "sk-key"),
        ("", {}, "sk-key"),
        ("/a%20b/v%2F1/~x", {}, "sk-key"),
        ("/my server/ü", {}, "sk-key"),
    ],
    ids=["no key", "own scheme", "own headers", "no path", "escaped path", "path to be escaped"],
)
async def test_odd_addresses_and_headers_are_sent_as_by_the_sdk(path: str, headers: dict[str, str], key: str) -> None:
    async with recorder() as (url, sent):
        provider = await ask_ours(written("openai", url + path, headers, key), {})
        await ask_through_sdk(provider, request_body(REQUEST, provider.info, provider.style))
    compare(*sent)


async def test_a_password_in_the_address_is_sent_as_by_the_sdk() -> None:
    async with recorder() as (url, sent):
        config = written("openai", url.replace("//", "//me:p%40ss@") + "/v1", {}, "sk-key")
        provider = await ask_ours(config, {})
        await ask_through_sdk(provider, request_body(REQUEST, provider.info, provider.style))
    compare(*sent)
    assert dict(sent[0][1])["authorization"].startswith("Basic ")


async def test_a_password_of_the_proxy_is_sent_as_by_the_sdk() -> None:
    async with recorder() as (url, sent):
        config = written("openai", "http://model.invalid/v1", {}, "sk-key")
        provider = await ask_ours(config, {"HTTP_PROXY": url.replace("//", "//me:p%40ss@")})
        await ask_through_sdk(provider, request_body(REQUEST, provider.info, provider.style))
    compare(*sent)
    assert "proxy-authorization" in dict(sent[0][1])


async def test_cookies_come_back_as_by_the_sdk() -> None:
    async with recorder() as (url, sent):
        provider = await ask_ours(written("openai", f"{url}/v1", {}, "sk-key"), {}, times=2)
        await ask_through_sdk(provider, request_body(REQUEST, provider.info, provider.style), times=2)
    compare(sent[0], sent[2])
    compare(sent[1], sent[3])
    assert dict(sent[1][1])["cookie"] == "seat=4 2"


async def test_the_bytes_are_those_of_the_sdk() -> None:
    async with recorder() as (url, sent):
        provider = await ask_ours(written("kimi", f"{url}/v1", {}, "sk-key"), {})
        body = request_body(REQUEST, provider.info, provider.style)
        http = httpx2.AsyncClient(trust_env=False)
        async with http, AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http) as sdk:
            create = sdk.chat.completions.with_streaming_response.create
            async with create(model=body["model"], messages=[], stream=True, extra_body=body) as response:
                await response.read()
    assert sent[0][2] == sent[1][2] == b"".join(request_bytes(REQUEST, provider.info, provider.style))
