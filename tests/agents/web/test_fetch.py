"""FetchURL: main text, limits, a question for each host, and no way into the private network (F80)."""

import asyncio
import gzip
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from sould.agents.permissions.policy import FetchPage, decide
from sould.agents.permissions.rules import Rule, Rules
from sould.agents.permissions.surroundings import Surroundings
from sould.agents.web.address import AddressError, is_public, parse_url, resolve
from sould.agents.wire.messages import ApprovalRequest, ToolResult, ToolReturn
from soultest.bench import Watcher, call, finish, make_bench
from soultest.website import Website, website

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


async def test_each_host_is_asked_about_once_and_by_its_exact_name(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/a", b"one", "text/plain")
        scripts = [call("FetchURL", url=site.url(f"/a?{n}")) for n in range(2)]
        bench = make_bench(tmp_path, {"tools": {"fetch_private_hosts": ["127.0.0.1"]}}, [*scripts, "text: ok"])
        async with bench.running():
            session = await bench.new("plan")
            watcher = Watcher(session, answer="approve_for_session")
            await finish(session, "go")
            assert [request.scope for request in watcher.of(ApprovalRequest)] == ["fetching from 127.0.0.1"]
            assert not any(result.return_value.is_error for result in watcher.of(ToolResult))


async def test_a_refused_host_is_never_contacted(tmp_path: Path) -> None:
    async with website() as site:
        bench = make_bench(tmp_path, {}, [call("FetchURL", url=site.url("/?d=secret"))])
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


LOOPBACK = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "017700000001", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]


@pytest.mark.parametrize("host", LOOPBACK)
async def test_no_spelling_of_the_loopback_address_is_contacted(tmp_path: Path, host: str) -> None:
    async with website() as site:
        bench = make_bench(tmp_path, {}, [call("FetchURL", url=site.url("/", host=host)), "text: ok"])
        async with bench.running():
            session = await bench.new("full")
            watcher = Watcher(session)
            await finish(session, "go")
            assert watcher.of(ToolResult)[0].return_value.is_error
        assert not site.asked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::", "2001:0:7f00:1::", "::127.0.0.1", "nonsense",
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


async def test_the_connection_goes_to_the_address_that_was_judged() -> None:
    target = await resolve(parse_url("http://localhost:81/x?y"), {"localhost"})
    assert target.connect_to.host == target.address
    assert target.address in ("127.0.0.1", "::1")
    assert target.url.host == "localhost"
    assert str(target.connect_to).endswith(":81/x?y")


def test_a_rule_for_a_host_is_none_for_names_that_contain_it() -> None:
    rules = Rules((Rule("allow", "fetch", argv=("docs.python.org",)),))
    where = Surroundings(root=Path("/w"))

    def decision(host: str, more: Rules = rules) -> str:
        return decide(FetchPage(host, f"https://{host}/"), more, "unknown", "ask", where).decision

    assert decision("docs.python.org") == "allow"
    assert decision("docs.python.org.evil.com") == "ask"
    assert decision("python.org") == "ask"
    assert decision("docs.python.org", rules + Rules((Rule("deny", "fetch"),))) == "deny"


ANSWERS: dict[str, tuple[str, Any]] = {
    "moonshot_search": (
        "/v1/search",
        {"search_results": [{"site_name": "S", "title": "Fences", "url": "https://a.example/1", "snippet": "wood",
                             "content": "long text", "date": "2026-01-01", "icon": "", "mime": ""}]},
    ),
    "searxng": (
        "/search",
        {"query": "q", "number_of_results": 0, "results": [
            {"url": "https://a.example/1", "title": "Fences", "content": "wood", "engine": "x", "score": 1.0,
             "publishedDate": "2026-01-01T00:00:00"}], "answers": [], "unresponsive_engines": []},
    ),
    "brave": (
        "/res/v1/web/search",
        {"type": "search", "web": {"type": "search", "results": [
            {"title": "Fences", "url": "https://a.example/1", "description": "wood", "page_age": "2026-01-01T00:00:00",
             "family_friendly": True}]}},
    ),
    "tavily": (
        "/search",
        {"query": "q", "answer": None, "results": [
            {"title": "Fences", "url": "https://a.example/1", "content": "wood", "score": 0.9, "raw_content": "long text",
             "published_date": "2026-01-01"}], "response_time": 0.5},
    ),
}  # fmt: skip
"""What each service answers, in the shape its documentation shows."""


@pytest.mark.parametrize("service", ANSWERS)
async def test_each_search_service_is_asked_and_read_its_own_way(tmp_path: Path, service: str) -> None:
    path, answer = ANSWERS[service]
    async with website() as site:
        site.page(path, json.dumps(answer).encode(), "application/json")
        base = site.url(path if service == "moonshot_search" else "")
        settings = {"services": {service: {"base_url": base, "api_key": "sk-test"}}}
        search = call("SearchWeb", query="garden fence", limit=3, include_content=True)
        bench = make_bench(tmp_path, settings, [search, "text: ok"])
        async with bench.running():
            session = await bench.new()
            watcher = Watcher(session)
            await finish(session, "go")
            result = watcher.of(ToolResult)[0].return_value
            assert "garden fence" in watcher.of(ApprovalRequest)[0].description
    assert not result.is_error
    for text in ("Title: Fences", "URL: https://a.example/1", "Summary: wood", "Date: 2026-01-01"):
        assert text in str(result.output)
    asked = site.asked[0]
    assert "sk-test" in json.dumps(asked.headers)
    said = asked.target + asked.body.decode()
    assert "garden" in said
    assert "fence" in said


def failing(site: Website, case: str) -> None:
    match case:
        case "key":
            site.page("/search", b"{}", status=401)
        case "status":
            site.page("/search", b"oops", status=500)
        case "page":
            site.page("/search", b"<html>", status=200)
        case "shape":
            site.page("/search", b'{"results": 5}', status=200)
        case _:
            site.page("/search", b'{"results": []}', status=200)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("key", "refused the key"),
        ("status", "status 500"),
        ("page", "search results"),
        ("shape", "search results"),
        ("none", "Nothing was found"),
    ],
)
async def test_a_search_that_fails_says_how(tmp_path: Path, case: str, said: str) -> None:
    async with website() as site:
        failing(site, case)
        settings = {"services": {"tavily": {"base_url": site.url(""), "api_key": "sk-hidden"}}}
        bench = make_bench(tmp_path, settings, [call("SearchWeb", query="q"), "text: ok"])
        async with bench.running():
            session = await bench.new("full")
            watcher = Watcher(session)
            await finish(session, "go")
            result = watcher.of(ToolResult)[0].return_value
    assert said in result.message
    assert "sk-hidden" not in result.model_dump_json()


async def test_without_a_service_there_is_no_search(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        toolset = (await bench.new()).soul.tools.toolset
        assert toolset.find("SearchWeb") is None
        assert toolset.find("FetchURL") is not None
