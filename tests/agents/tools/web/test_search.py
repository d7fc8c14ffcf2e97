"""SearchWeb against recorded answers: each file of `recorded/` names the page or recording its bytes come from (D4)."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from sould.agents.tools.web.search import BACKENDS
from sould.agents.wire.messages import ApprovalRequest, ToolResult, ToolReturn
from soultest.bench import Watcher, call, finish, make_bench
from soultest.bench.looks import toolset_of
from soultest.website import Asked, website

RECORDED = Path(__file__).parent / "recorded"
PATHS = {
    "moonshot_search": "/v1/tools/search",
    "searxng": "/search",
    "brave": "/res/v1/web/search",
    "tavily": "/search",
}


def recorded(name: str) -> dict[str, Any]:
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


async def searched(
    tmp_path: Path,
    service: str,
    answer: object,
    *,
    path: str = "",
    status: int = 200,
    mode: Any = "full",
    environment: Mapping[str, str] = os.environ,
    **more: Any,
) -> tuple[ToolReturn, list[Asked], list[ApprovalRequest]]:
    """What the model is told, what the service was asked, and what the user was."""
    path = path or PATHS[service]
    async with website() as site:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        site.page(path, body, "application/json", status)
        base = site.url(path if service == "moonshot_search" else "")
        settings = {"services": {service: {"base_url": base, "api_key": "sk-hidden"} | more}}
        search = call("SearchWeb", query="garden fence", limit=3, include_content=True)
        bench = make_bench(tmp_path, settings, [search, "text: ok"])
        async with bench.running():
            opening = bench.opening(environment=dict(environment), mode=mode)
            watcher = Watcher(await bench.host.new(opening))
            await finish(watcher.session, "go")
            result = watcher.of(ToolResult)[0].return_value
            assert "sk-hidden" not in result.model_dump_json()
            return result, site.asked, watcher.of(ApprovalRequest)


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.json")), ids=lambda file: file.stem)
def test_every_answer_names_its_source(file: Path) -> None:
    found = recorded(file.stem)
    assert found["source"].startswith("https://")
    assert found["taken"]


def test_every_service_has_a_recorded_answer() -> None:
    served = {recorded(file.stem)["service"] for file in RECORDED.glob("*.json")}
    assert served == {*BACKENDS, "moonshot_fetch"}


EXPECTED = {
    "moonshot-search": [
        "URL: https://platform.kimi.com/docs/api/overview\nDate: 2026-06-01\nSummary: Kimi API 开放平台文档入口。"
    ],
    "searxng": [
        "Title: How to find the best grind size for espresso\n",
        "/rgzj28/how_do_you_guys_figure_out_the_best_grind_size/\n\nTitle: ",  # nothing but a title
        "\nDate: 2025-08-20T00:00:00\nSummary: Let",
    ],
    "brave": [
        "Summary: This quickstart gets you started using n8n as quickly as possible.",
        "It doesn't include detailed explanations",
        "\nDate: 2025-01-19T16:43:08\n",
    ],
    "tavily": [
        "Title: Pydantic AI - Pydantic AI\nURL: https://ai.pydantic.dev/\nSummary: Pydantic AI is a Python agent framework",
        "I've been using Pydantic AI",
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
async def test_each_service_s_recorded_answer_is_read(tmp_path: Path, name: str) -> None:
    found = recorded(name)
    result, _, asked = await searched(tmp_path, found["service"], found["answer"], mode="ask")
    assert not result.is_error
    for said in EXPECTED[name]:
        assert said in str(result.output)
    assert "lSwMtsm6oDU" not in str(result.output)  # of the web results only
    assert "garden fence" in asked[0].description


QUESTIONS: dict[str, tuple[str, dict[str, Any], tuple[str, str]]] = {
    "moonshot_search": (
        "POST",
        {"text_query": "garden fence", "limit": 3, "include_content": True, "timeout_seconds": 30},
        ("authorization", "Bearer sk-hidden"),
    ),
    "searxng": ("GET", {"q": "garden fence", "format": "json"}, ("authorization", "Bearer sk-hidden")),
    "brave": (
        "GET",
        {"q": "garden fence", "count": "3", "text_decorations": "false"},
        ("x-subscription-token", "sk-hidden"),
    ),
    "tavily": (
        "POST",
        {"query": "garden fence", "max_results": 3, "include_raw_content": True},
        ("authorization", "Bearer sk-hidden"),
    ),
}


@pytest.mark.parametrize("service", QUESTIONS)
async def test_each_service_is_asked_its_own_way(tmp_path: Path, service: str) -> None:
    method, said, (header, key) = QUESTIONS[service]
    _, asked, _ = await searched(tmp_path, service, {})
    assert asked[0].method == method
    assert asked[0].headers[header] == key
    query = dict(parse_qsl(urlsplit(asked[0].target).query))
    assert (query if method == "GET" else json.loads(asked[0].body)) == said


async def test_kimi_code_s_search_has_its_own_word_for_content(tmp_path: Path) -> None:
    answer = {"search_results": [{"title": "t", "url": "https://a.example/", "snippet": "s", "content": "all of it"}]}
    result, asked, _ = await searched(tmp_path, "moonshot_search", answer, path="/coding/v1/search")
    assert json.loads(asked[0].body)["enable_page_crawling"] is True
    assert asked[0].headers["x-msh-tool-call-id"] == "1"
    assert "all of it" in str(result.output)


async def test_kimi_code_s_search_is_asked_with_kimi_cli_s_sign_in_while_it_is_valid(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "KIMI_SHARE_DIR": str(tmp_path / "kimi")}
    credentials = tmp_path / "kimi" / "credentials"
    credentials.mkdir(parents=True)
    (credentials / "kimi-code.json").write_text(json.dumps({"access_token": "kept", "expires_at": 4e9}))
    oauth = {"storage": "file", "key": "oauth/kimi-code"}
    path = tmp_path / "one"
    path.mkdir()
    _, asked, _ = await searched(path, "moonshot_search", {}, api_key="", oauth=oauth, environment=environment)
    assert asked[0].headers["authorization"] == "Bearer kept"
    (credentials / "kimi-code.json").write_text(json.dumps({"access_token": "kept", "expires_at": 1}))
    path = tmp_path / "two"
    path.mkdir()
    result, asked, _ = await searched(path, "moonshot_search", {}, api_key="", oauth=oauth, environment=environment)
    assert "sign-in of kimi-cli" in result.message
    assert not asked


FAILURES: dict[str, tuple[str, object, int, str]] = {
    "key": ("tavily", b"", 401, "refused the key"),
    "status": ("tavily", b"oops", 500, "status 500."),
    "page": ("tavily", b"<html>", 200, "search results"),
    "shape": ("tavily", {"results": 5}, 200, "search results"),
    "none": ("tavily", {"results": []}, 200, "Nothing was found"),
    "no JSON": ("searxng", b"<html>Forbidden", 403, "add `json` to `search.formats`"),
    "too long": (
        "tavily",
        recorded("tavily-query-too-long")["answer"],
        400,
        "Query is too long. Max query length is 400",
    ),
    "limited": ("moonshot_search", recorded("moonshot-rate-limited")["answer"], 429, "project qps limit exceeded"),
    "echo": ("tavily", {"detail": "bad key sk-hidden"}, 400, "bad key …"),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_a_search_that_fails_says_how(tmp_path: Path, case: str) -> None:
    service, answer, status, said = FAILURES[case]
    result, _, _ = await searched(tmp_path, service, answer, status=status)
    assert said in result.message
    assert result.is_error == (case != "none")


async def test_without_a_service_there_is_no_search(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        toolset = toolset_of(await bench.new())
        assert toolset.find("SearchWeb") is None
        assert toolset.find("FetchURL") is not None
