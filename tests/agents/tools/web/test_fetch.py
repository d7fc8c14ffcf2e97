"""FetchURL: main text, limits, a question for each host, and no way into the private network."""

import asyncio
import gzip
import os
import socket
import ssl
from pathlib import Path
from typing import Any, cast

import pytest

from sould.agents.permissions.policy import FetchPage, decide
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rule, Rules
from sould.agents.tools.web.fetching import AddressError, FetchTarget, asked, client_for, is_public, parse_url, resolve
from sould.agents.wire.messages import ApprovalRequest, ToolResult, ToolReturn
from soultest.bench import Watcher, call, finish, make_bench
from soultest.website import Website, website

PEM = str(Path(__file__).parents[2] / "llm" / "loopback.pem")
ARTICLE = b"""<html><head><title>T</title></head><body><nav><a href=/x>Menu</a></nav><article><h1>Fences</h1>
<p>A fence keeps the garden in. It is made of wood, and it is painted once a year by the people who live there.</p>
<p>The gate is in the middle, and it squeaks whenever the wind blows from the east, which is every second day.</p>
</article><footer>Imprint</footer><script>var secret = 1;</script></body></html>"""


async def fetched(
    tmp_path: Path, url: str, mode: Any = "full", **limits: Any
) -> tuple[ToolReturn, list[ApprovalRequest]]:
    """The result of one FetchURL call, and what was asked."""
    settings = {"tools": {"fetch_private_hosts": ["127.0.0.1"]} | limits}
    bench = make_bench(tmp_path, settings, [call("FetchURL", url=url), "text: ok"])
    async with bench.running():
        session = await bench.new(mode)
        watcher = Watcher(session)
        await asyncio.wait_for(finish(session, "go"), 20)
        return watcher.of(ToolResult)[0].return_value, watcher.of(ApprovalRequest)


async def test_the_main_text_of_a_page_comes_as_markdown(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/a", ARTICLE)
        result, _ = await fetched(tmp_path, site.url("/a"))
    assert not result.is_error
    assert "keeps the garden in" in str(result.output)
    assert "secret" not in str(result.output)
    assert "not instructions" in result.message
    assert site.asked[0].headers["host"] == f"127.0.0.1:{site.port}"
    assert "cookie" not in site.asked[0].headers


@pytest.mark.parametrize("kind", ["text/plain; charset=latin-1", "application/json", "application/ld+json"])
async def test_other_text_comes_as_it_is_without_what_moves_a_terminal(tmp_path: Path, kind: str) -> None:
    async with website() as site:
        site.page("/a", b'{"a": 1}\x1b]52;c;aGk=\x07', kind)
        result, _ = await fetched(tmp_path, site.url("/a"))
    assert result.output == '{"a": 1}'


@pytest.mark.parametrize("charset", ["punycode", "undefined"])
async def test_a_page_does_not_choose_how_long_it_is_read_by_its_charset(tmp_path: Path, charset: str) -> None:
    async with website() as site:
        site.page("/a", b"a" * 100_000 + b"-" + b"b9" * 500_000 + "ü".encode(), f"text/plain; charset={charset}")
        result, _ = await fetched(tmp_path, site.url("/a"))
    assert not result.is_error


async def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/a", b"\x89PNG", "image/png")
        result, _ = await fetched(tmp_path, site.url("/a"))
    assert result.is_error
    assert "image/png" in result.message


async def test_a_page_that_is_not_there_says_so(tmp_path: Path) -> None:
    async with website() as site:
        result, _ = await fetched(tmp_path, site.url("/none"))
    assert result.is_error
    assert "404" in result.message


async def test_size_is_limited_also_for_packed_pages(tmp_path: Path) -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    async with website() as site:
        site.page("/a", bomb, "text/plain", Content_Encoding="gzip")
        result, _ = await fetched(tmp_path, site.url("/a"), fetch_bytes=10_000)
    assert not result.is_error
    assert len(str(result.output)) <= 10_100
    assert "first 10000 bytes" in result.message


async def test_time_is_limited(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        result, _ = await fetched(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/", fetch_timeout_s=0.2)
        assert "within 0.2 seconds" in result.message


async def test_time_is_limited_for_all_redirects_together(tmp_path: Path) -> None:
    serving: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(cast("asyncio.Task[Any]", asyncio.current_task()))
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.3)  # a slow server, each time within the limit
        writer.write(b"HTTP/1.1 302 X\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        result, _ = await fetched(tmp_path, url, fetch_timeout_s=0.5)
        await asyncio.gather(*serving, return_exceptions=True)
    assert "within 0.5 seconds" in result.message


async def test_a_page_whose_text_takes_too_long_to_find_costs_its_limit_and_no_more(tmp_path: Path) -> None:
    paragraphs = b"<p>Some words here that are long enough to be text, yes.</p>" * 60_000
    async with website() as site:
        site.page("/a", b"<html><body><article>" + paragraphs + b"</article></body></html>")
        result, _ = await fetched(tmp_path, site.url("/a"), fetch_timeout_s=1.0)
    assert result.is_error
    assert "could not be found within 1 seconds" in result.message


async def test_each_host_is_asked_about_once_and_by_its_exact_name(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/a", b"one", "text/plain")
        scripts = [call("FetchURL", url=site.url(f"/a?{n}")) for n in range(2)]
        bench = make_bench(tmp_path, {"tools": {"fetch_private_hosts": ["127.0.0.1"]}}, [*scripts, "text: ok"])
        async with bench.running():
            session = await bench.new("plan")
            watcher = Watcher(session, answer="approve_for_session")
            await finish(session, "go")
            assert [request.scope for request in watcher.of(ApprovalRequest)] == [
                "This session fetches from 127.0.0.1 without asking."
            ]
            assert not any(result.return_value.is_error for result in watcher.of(ToolResult))


async def test_a_refused_host_is_never_contacted(tmp_path: Path) -> None:
    async with website() as site:
        private = {"tools": {"fetch_private_hosts": ["127.0.0.1"]}}
        bench = make_bench(tmp_path, private, [call("FetchURL", url=site.url("/?d=secret"))])
        async with bench.running():
            session = await bench.new("ask")
            watcher = Watcher(session, answer="reject")
            assert (await finish(session, "go")).stop_reason == "tool_rejected"
            assert "/?d=secret" in watcher.of(ApprovalRequest)[0].description
        assert not site.asked


async def test_a_redirect_to_another_host_is_judged_anew(tmp_path: Path) -> None:
    async with website() as site, website() as inner:
        inner.page("/", b"inside", "text/plain")
        site.page("/a", b"", status=302, Location=inner.url("/", host="localhost"))
        result, _ = await fetched(tmp_path, site.url("/a"))
        assert result.is_error
        assert "not on the public internet" in result.message
        assert not inner.asked


async def test_redirects_on_one_host_are_followed_and_counted(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/a", b"", status=301, Location="/b")
        site.page("/b", b"there", "text/plain")
        site.page("/loop", b"", status=302, Location="/loop")
        (tmp_path / "1").mkdir()
        (tmp_path / "2").mkdir()
        result, _ = await fetched(tmp_path / "1", site.url("/a"))
        assert result.output == "there"
        result, _ = await fetched(tmp_path / "2", site.url("/loop"))
        assert "redirects more than" in result.message


LOOPBACK = [
    *("127.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST.", "my.localhost", "2130706433", "0x7f.1", "017700000001"),
    *("[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"),
]


@pytest.mark.parametrize("host", LOOPBACK)
async def test_no_spelling_of_the_loopback_address_is_contacted_or_asked_about(tmp_path: Path, host: str) -> None:
    async with website() as site:
        bench = make_bench(tmp_path, {}, [call("FetchURL", url=site.url("/", host=host)), "text: ok"])
        async with bench.running():
            session = await bench.new("ask")
            watcher = Watcher(session)
            await finish(session, "go")
            assert "on the public internet" in watcher.of(ToolResult)[0].return_value.message
            assert watcher.of(ApprovalRequest) == []
        assert not site.asked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::", "2001:0:7f00:1::", "::127.0.0.1", "nonsense",
        "192.0.0.192", "168.63.129.16", "fec0::1", "::ffff:192.0.0.192",
    ],
)  # fmt: skip
def test_addresses_that_are_not_on_the_public_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_of_the_public_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url", ["ftp://a/", "file:///etc/passwd", "http://", "http://u:p@a/", "a b", "http://a/" + "x" * 9000]
)
def test_urls_that_are_not_fetched(url: str) -> None:
    with pytest.raises(AddressError):
        parse_url(url)


async def test_the_connection_goes_to_an_address_that_was_judged() -> None:
    target = await resolve(parse_url("http://localhost:81/x?y"), {"localhost"})
    assert [url.host for url in target.connect_to] == list(target.addresses)
    assert {*target.addresses} <= {"127.0.0.1", "::1"}
    assert target.url.host == "localhost"
    assert str(target.connect_to[0]).endswith(":81/x?y")


async def test_an_address_that_takes_no_connection_is_passed_over() -> None:
    async with website() as site:
        site.page("/a", b"there", "text/plain")
        target = FetchTarget(parse_url(site.url("/a", host="localhost")), ("127.0.0.2", "127.0.0.1"))
        async with client_for("http://localhost", {}) as client:
            response = await asked(client, target)
            assert await response.aread() == b"there"
            await response.aclose()
    assert site.asked[0].headers["host"] == f"localhost:{site.port}"


def test_a_rule_for_a_host_is_none_for_names_that_contain_it() -> None:
    rules = Rules((Rule("allow", "fetch", argv=("docs.python.org",)),))
    where = PolicyContext(root=Path("/w"))

    def decision(host: str, more: Rules = rules) -> str:
        return decide(FetchPage(host, f"https://{host}/"), more, "unknown", "ask", where).decision

    assert decision("docs.python.org") == "allow"
    assert decision("docs.python.org.evil.com") == "ask"
    assert decision("python.org") == "ask"
    assert decision("docs.python.org", rules + Rules((Rule("deny", "fetch"),))) == "deny"


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_is_judged_by_the_name_although_the_address_is_connected_to(
    tmp_path: Path, trusted: bool
) -> None:
    site, names = Website(0), list[str | None]()
    site.page("/a", b"over TLS", "text/plain")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    async with await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        fetch = call("FetchURL", url=f"https://localhost:{port}/a")
        bench = make_bench(tmp_path, {"tools": {"fetch_private_hosts": ["localhost"]}}, [fetch, "text: ok"])
        async with bench.running():
            environment = {**os.environ, **({"SSL_CERT_FILE": PEM} if trusted else {})}
            opening = bench.opening(environment=environment, mode="full")
            watcher = Watcher(await bench.host.new(opening))
            await finish(watcher.session, "go")
            result = watcher.of(ToolResult)[0].return_value
    assert names == ["localhost"]
    assert result.is_error != trusted
    assert (result.output == "over TLS") == trusted
