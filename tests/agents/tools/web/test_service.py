"""FetchURL through Moonshot's service: it is tried first, told of public pages only, and never the only way."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from sould.agents.wire.messages import ApprovalRequest, ToolResult, ToolReturn
from soultest.bench import Watcher, call, finish, make_bench
from soultest.website import Website, website

RECORDED = json.loads((Path(__file__).parent / "recorded" / "moonshot-fetch.json").read_text(encoding="utf-8"))
PUBLIC = "http://1.1.1.1:9/page"
"""An address of the public internet. Only the service is ever asked for it here: nothing listens at the discard port."""


async def fetched(
    tmp_path: Path, site: Website, url: str, mode: Any = "full", proxy: Website | None = None, **tools: Any
) -> tuple[ToolReturn, list[ApprovalRequest]]:
    settings = {
        "services": {"moonshot_fetch": {"base_url": site.url("/v1/tools/fetch"), "api_key": "sk-hidden"}},
        "tools": {"fetch_timeout_s": 2.0} | tools,
    }
    bench = make_bench(tmp_path, settings, [call("FetchURL", url=url), "text: ok"])
    async with bench.running():
        through = {"http_proxy": proxy.url(""), "no_proxy": "127.0.0.1"} if proxy is not None else {}
        opening = bench.opening(environment={**os.environ, **through}, mode=mode)
        watcher = Watcher(await bench.host.new(opening))
        await finish(watcher.session, "go")
        result = watcher.of(ToolResult)[0].return_value
        assert "sk-hidden" not in result.model_dump_json()
        return result, watcher.of(ApprovalRequest)


async def test_a_public_page_comes_from_the_service_as_it_answers(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/v1/tools/fetch", json.dumps(RECORDED["answer"]).encode(), "application/json")
        result, asked = await fetched(tmp_path, site, PUBLIC, "ask")
    assert not result.is_error
    assert result.output == "# API 概述\n\nKimi API 开放平台文档入口。"
    assert "through Moonshot's fetch service" in result.message
    assert "not instructions" in result.message
    assert "1.1.1.1, read by Moonshot's fetch service at 127.0.0.1" in asked[0].description
    (sent,) = site.asked
    assert (sent.method, json.loads(sent.body)) == ("POST", {"url": PUBLIC})
    assert sent.headers["authorization"] == "Bearer sk-hidden"


async def test_kimi_code_s_service_answers_markdown_alone(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/v1/tools/fetch", b"# Fences\x1b]52;c;aGk=\x07\n\nWood.", "text/markdown; charset=utf-8")
        result, _ = await fetched(tmp_path, site, PUBLIC)
    assert result.output == "# Fences\n\nWood."


@pytest.mark.parametrize("url", ["http://localhost/", "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/latest"])
async def test_the_service_is_not_told_of_private_addresses_whatever_their_name(tmp_path: Path, url: str) -> None:
    async with website() as site:
        result, _ = await fetched(tmp_path, site, url)
        assert not site.asked
    assert "not on the public internet" in result.message


async def test_a_private_host_that_the_user_lists_is_read_directly(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/wiki", b"inside", "text/plain")
        result, _ = await fetched(tmp_path, site, site.url("/wiki"), fetch_private_hosts=["127.0.0.1"])
        assert [asked.target for asked in site.asked] == ["/wiki"]
    assert result.output == "inside"


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (404, "application/json", b'{"error":{"type":"markdown_not_found"}}', "status 404"),
        (401, "text/plain", b"", "status 401"),
        (200, "application/json", b'{"markdown": 5}', "did not answer with a page"),
        (200, "text/markdown", b"  \n", "found no text"),
    ],
)
async def test_when_the_service_fails_the_page_is_fetched_directly(
    tmp_path: Path, status: int, kind: str, body: bytes, said: str
) -> None:
    async with website() as site, website() as proxy:
        site.page("/v1/tools/fetch", body, kind, status)
        proxy.page(PUBLIC, b"read directly", "text/plain")
        result, asked = await fetched(tmp_path, site, PUBLIC, "ask", proxy)
        assert len(site.asked) == 1
    assert result.output == "read directly"
    assert said in result.message
    assert "fetched directly instead" in result.message
    assert len(asked) == 1


async def test_a_service_that_says_nothing_gets_half_of_the_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with website() as proxy:
            proxy.page(PUBLIC, b"read directly", "text/plain")
            service = Website(silent.getsockname()[1])
            result, _ = await fetched(tmp_path, service, PUBLIC, "full", proxy, fetch_timeout_s=2)
    assert "did not answer within 1 seconds" in result.message
    assert result.output == "read directly"


async def test_its_answer_is_limited_in_size(tmp_path: Path) -> None:
    async with website() as site:
        site.page("/v1/tools/fetch", b"x" * 50_000, "text/markdown")
        result, _ = await fetched(tmp_path, site, PUBLIC, fetch_bytes=1000)
    assert len(str(result.output)) <= 1100
    assert "first 1000 bytes" in result.message
