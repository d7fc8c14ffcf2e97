"""Through a proxy to a server behind TLS, and what is said when that fails."""

import asyncio
import base64
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sould.agents.llm.network import NetworkSettings
from sould.agents.llm.provider import ProviderConnectionError, ProviderError
from sould.agents.llm.retry import RetryPolicy
from soultest.llm import ModelServer
from soultest.llmclient import ask, provider_for

PEM = str(Path(__file__).with_name("loopback.pem"))
ONCE = RetryPolicy(attempts=1)


def certified() -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    return tls


@dataclass
class Proxy:
    """Makes tunnels, or refuses to."""

    refuses: bytes = b""
    url: str = ""
    heads: list[bytes] = field(default_factory=list[bytes])

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncGenerator["Proxy", None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if self.refuses:
            writer.write(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % self.refuses)
        else:
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(carry(reader, far_writer))
                group.create_task(carry(far_reader, writer))
        writer.close()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


@pytest.mark.parametrize("secure", [False, True], ids=["plain proxy", "proxy behind TLS"])
async def test_a_server_behind_tls_is_reached_through_a_tunnel_that_is_used_again(*, secure: bool) -> None:
    async with ModelServer(tls=certified()) as server, Proxy().running(certified() if secure else None) as proxy:
        network = NetworkSettings(proxy.url.replace("//", "//me:p%40ss@"), PEM)
        async with provider_for(server.url, network=network) as provider:
            for _ in range(2):
                outcome = await ask(provider, "hello", ONCE)
                assert outcome.error is None
                assert outcome.shown
    head = proxy.heads[0].decode().lower()
    assert len(proxy.heads) == server.connections == 1
    assert head.startswith(f"connect 127.0.0.1:{server.url.split(':')[2].removesuffix('/v1')} http/1.1\r\n")
    assert base64.b64encode(b"me:p@ss").decode().lower() in head
    assert "sk-canary" not in head


async def test_a_proxy_that_refuses_is_an_error_in_a_sentence_without_its_password() -> None:
    async with Proxy(b"407 Proxy Authentication Required").running() as proxy:
        network = NetworkSettings(proxy.url.replace("//", "//me:canary@"), PEM)
        async with provider_for("https://127.0.0.1:9/v1", network=network) as provider:
            outcome = await ask(provider, "hello", ONCE)
    assert isinstance(outcome.error, ProviderConnectionError)
    assert "Proxy Authentication Required" in outcome.error.message
    assert "canary" not in outcome.error.message


async def test_a_proxy_that_is_not_there_is_an_error_that_can_pass() -> None:
    async with provider_for("https://127.0.0.1:9/v1", network=NetworkSettings("http://127.0.0.1:9", PEM)) as provider:
        outcome = await ask(provider, "hello", ONCE)
    assert isinstance(outcome.error, ProviderConnectionError)
    assert "connection refused" in outcome.error.message
    assert outcome.error.retryable


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://127.0.0.1:9", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_an_error_before_anything_is_sent(proxy: str) -> None:
    with pytest.raises(ProviderError, match="proxy or certificate settings"):
        async with provider_for("https://127.0.0.1:9/v1", network=NetworkSettings(proxy, PEM)):
            raise AssertionError


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "127.0.0.1:9/v1", "/v1", "http://[::1/v1"])
async def test_an_address_that_cannot_be_used_is_an_error_in_a_sentence(url: str) -> None:
    with pytest.raises(ProviderError, match="address of the model server cannot be used"):
        async with provider_for(url):
            raise AssertionError


async def test_a_header_that_cannot_be_sent_is_an_error_without_its_value() -> None:
    from pydantic import SecretStr

    async with ModelServer() as server:
        async with provider_for(server.url, headers={"X-Mine": SecretStr("can\r\nary")}) as provider:
            outcome = await ask(provider, "hello", ONCE)
        assert server.requests == []
    assert outcome.error is not None
    assert "ary" not in outcome.error.message.replace("necessary", "")


async def test_a_name_that_is_not_known_is_named() -> None:
    async with provider_for("https://model.invalid/v1") as provider:
        outcome = await ask(provider, "hello", ONCE)
    assert outcome.error is not None
    assert outcome.error.message == "Cannot find model.invalid. Are you offline?"
