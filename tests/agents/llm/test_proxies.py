"""Through a proxy to a server behind TLS, and what is said when that fails."""

import asyncio
import base64
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from sould.agents.base.errors import ConfigError
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.provider import ProviderConnectionError
from sould.agents.llm.retry import RetryPolicy
from soultest.llm import ModelServer
from soultest.llmclient import ask, provider_for

PEM = str(Path(__file__).with_name("loopback.pem"))
ONCE = RetryPolicy(attempts=1)


def behind(proxy: str) -> NetworkSettings:
    """A network in which servers are reached through this proxy."""
    return NetworkSettings.of({"HTTPS_PROXY": proxy, "SSL_CERT_FILE": PEM})


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
        network = behind(proxy.url.replace("//", "//me:p%40ss@"))
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
        network = behind(proxy.url.replace("//", "//me:canary@"))
        async with provider_for("https://127.0.0.1:9/v1", network=network) as provider:
            outcome = await ask(provider, "hello", ONCE)
    assert isinstance(outcome.error, ProviderConnectionError)
    assert "Proxy Authentication Required" in outcome.error.message
    assert "canary" not in outcome.error.message


async def test_a_proxy_that_is_not_there_is_named_in_an_error_that_can_pass() -> None:
    async with provider_for("https://127.0.0.1:9/v1", network=behind("http://127.0.0.1:9")) as provider:
        outcome = await ask(provider, "hello", ONCE)
    assert isinstance(outcome.error, ProviderConnectionError)
    assert (
        "through the proxy that HTTPS_PROXY names: connection refused. Is the proxy running?" in outcome.error.message
    )
    assert outcome.error.retryable


@dataclass
class SocksProxy:
    """Carries connections as RFC 1928 says; finds the names that it is given by itself."""

    sign_in: bytes = b""
    """The name and password that RFC 1929 wants, each behind its length; b"": none is needed."""
    url: str = ""
    asked: list[bytes] = field(default_factory=list[bytes])

    @asynccontextmanager
    async def running(self, scheme: str) -> AsyncGenerator["SocksProxy", None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        offered = await reader.readexactly(count)
        wanted = b"\x02" if self.sign_in else b"\x00"
        writer.write(b"\x05" + (wanted if wanted in offered else b"\xff"))
        if self.sign_in:
            given = await reader.readexactly(1 + len(self.sign_in))
            writer.write(b"\x01" + (b"\x00" if given[1:] == self.sign_in else b"\x01"))
        *_, kind = await reader.readexactly(4)
        host = await reader.readexactly(4 if kind == 1 else (await reader.readexactly(1))[0])
        self.asked.append(host)
        port = int.from_bytes(await reader.readexactly(2))
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        async with asyncio.TaskGroup() as group:
            group.create_task(carry(reader, far_writer))
            group.create_task(carry(far_reader, writer))


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_socks_proxy_is_used_and_finds_the_name(scheme: str) -> None:
    async with ModelServer() as server, SocksProxy(b"\x02me\x04p@ss").running(scheme) as proxy:
        network = NetworkSettings.of({"ALL_PROXY": proxy.url.replace("//", "//me:p%40ss@")})
        async with provider_for(server.url.replace("127.0.0.1", "model.invalid"), network=network) as provider:
            for _ in range(2):
                outcome = await ask(provider, "hello", ONCE)
                assert outcome.error is None
    assert proxy.asked == [b"model.invalid"]


@pytest.mark.parametrize("proxy", ["socks4://127.0.0.1:9", "ftp://127.0.0.1:9", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_an_error_before_anything_is_sent(proxy: str) -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        async with provider_for("https://127.0.0.1:9/v1", network=behind(proxy)):
            raise AssertionError


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "127.0.0.1:9/v1", "/v1", "http://[::1/v1"])
async def test_an_address_that_cannot_be_used_is_an_error_in_a_sentence(url: str) -> None:
    with pytest.raises(ConfigError, match="must begin with http:// or https://"):
        async with provider_for(url):
            raise AssertionError


@pytest.mark.parametrize("value", ["can\r\nary", "canary\n", "can\0ary"])
async def test_a_header_that_cannot_be_sent_is_named_without_its_value(value: str) -> None:
    with pytest.raises(ConfigError, match="its header 'x-mine' holds a line end") as raised:
        async with provider_for("http://127.0.0.1:9/v1", headers={"X-Mine": SecretStr(value)}):
            raise AssertionError
    assert "ary" not in raised.value.message


async def test_a_name_that_is_not_known_is_named() -> None:
    async with provider_for("https://model.invalid/v1") as provider:
        outcome = await ask(provider, "hello", ONCE)
    assert outcome.error is not None
    assert outcome.error.message == "Cannot find model.invalid. Are you offline?"
