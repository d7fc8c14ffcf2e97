"""Web searches through whichever service the user configured: Moonshot's, SearXNG, Brave or Tavily.

Each service is one function from a query to a request and one from its answer to results. No service: no search.
"""

import html
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import orjson
from msgspec import Struct

from sould.agents.base.config import Service, Services
from sould.agents.tools.web.fetching import client_for
from sould.agents.tools.web.service import ServiceKeyError, service_key

if TYPE_CHECKING:
    import httpx2

MOST_ANSWER = 8 * 1024 * 1024
TIMEOUT = 30.0
_MARK = re.compile(r"</?[a-z]+>")
"""Highlighting in titles and snippets."""


class SearchError(Exception):
    """There are no results; the sentence says why."""


class Query(Struct, frozen=True):
    """What to search for; `content` asks for the pages' text too, where the service has it."""

    text: str
    limit: int = 5
    content: bool = False
    call_id: str = ""


class SearchResult(Struct, frozen=True):
    """One page found."""

    title: str
    url: str
    snippet: str
    date: str = ""
    content: str = ""


MakeRequest: TypeAlias = Callable[[str, str, Query], tuple[str, str, dict[str, str], Any, dict[str, str]]]
"""A search as one kind of service wants it: method, URL, query parameters, JSON body and headers."""


class Backend(Struct, frozen=True):
    """One kind of service."""

    name: str
    ask: MakeRequest
    results: tuple[str, ...]
    """Where in the answer the list is."""
    fields: Mapping[str, tuple[str, ...]]
    """What we call it, and where the service has it: the first of these keys that holds text."""
    base_url: str = ""
    marked_up: bool = False
    """Titles and snippets are HTML."""
    forbidden: str = ""
    """What status 403 means there, when it is not the key."""


def _moonshot(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    """`base` is the whole address. Kimi Code and the open platform name one parameter differently."""
    crawl = "include_content" if base.endswith("/tools/search") else "enable_page_crawling"
    body = {"text_query": query.text, "limit": query.limit, crawl: query.content, "timeout_seconds": int(TIMEOUT)}
    return "POST", base, {}, body, _bearer(key) | {"X-Msh-Tool-Call-Id": query.call_id}


def _searxng(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    return "GET", f"{base}/search", {"q": query.text, "format": "json"}, None, _bearer(key)


def _brave(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    parameters = {"q": query.text, "count": str(query.limit), "text_decorations": "false"}
    return "GET", f"{base}/res/v1/web/search", parameters, None, {"X-Subscription-Token": key}


def _tavily(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    body = {"query": query.text, "max_results": query.limit, "include_raw_content": query.content}
    return "POST", f"{base}/search", {}, body, _bearer(key)


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


BACKENDS: Mapping[str, Backend] = {
    "moonshot_search": Backend(
        "Moonshot",
        _moonshot,
        ("search_results",),
        {"snippet": ("snippet",), "date": ("date",), "content": ("content", "text")},
    ),
    "searxng": Backend(
        "SearXNG",
        _searxng,
        ("results",),
        {"snippet": ("content",), "date": ("publishedDate", "pubdate")},
        forbidden="does not give JSON: add `json` to `search.formats` in its settings.yml",
    ),
    "brave": Backend(
        "Brave",
        _brave,
        ("web", "results"),
        {"snippet": ("description",), "date": ("page_age", "age")},
        "https://api.search.brave.com",
        marked_up=True,
    ),
    "tavily": Backend(
        "Tavily",
        _tavily,
        ("results",),
        {"snippet": ("content",), "date": ("published_date",), "content": ("raw_content",)},
        "https://api.tavily.com",
    ),
}
"""By their keys in the configuration, the first that is configured is used."""


def configured(services: Services) -> tuple[str, Service] | None:
    """The service to search with, and its key in the configuration."""
    for kind in BACKENDS:
        service: Service | None = getattr(services, kind)
        if service is not None:
            return kind, service
    return None


def address(backend: Backend, service: Service) -> str:
    """Where the service is."""
    return (service.base_url or backend.base_url).rstrip("/")


async def search(kind: str, service: Service, query: Query, environment: Mapping[str, str]) -> tuple[SearchResult, ...]:
    """Ask the service; `kind` is its key in the configuration.

    Raises:
        SearchError
    """
    import httpx2  # noqa: PLC0415 -- slow, and most sessions read no page

    backend = BACKENDS[kind]
    try:
        key = (await service_key(kind, service, environment)).get_secret_value()
    except ServiceKeyError as error:
        raise SearchError(str(error)) from None
    method, url, parameters, body, headers = backend.ask(address(backend, service), key, query)
    headers |= {name: value.get_secret_value() for name, value in service.custom_headers.items()}
    headers |= {"User-Agent": "sould", "Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        async with client_for(url, environment) as client:
            request = client.build_request(
                method, url, params=parameters or None, json=body, headers=headers, timeout=TIMEOUT
            )
            response = await client.send(request, stream=True)
            try:
                data = await _read(response)
            finally:
                await response.aclose()
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise SearchError(f"{backend.name} cannot be reached: {type(error).__name__}.") from error
    if response.status_code != 200:
        raise SearchError(_failure(backend, response.status_code, data, key))
    return _results(backend, data, query.limit)


async def _read(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for data in response.aiter_raw():
        body += data
        if len(body) > MOST_ANSWER:
            raise SearchError("The answer of the search service is too large.")
    return bytes(body)


def _failure(backend: Backend, status: int, data: bytes, key: str) -> str:
    if status == 403 and backend.forbidden:
        return f"{backend.name} {backend.forbidden}."
    if status in (401, 403):
        return f"{backend.name} refused the key (status {status})."
    try:
        said = _words(orjson.loads(data))
    except orjson.JSONDecodeError:
        said = ""
    said = said.replace(key, "…") if key else said
    return f"{backend.name} answered with status {status}{f': {said[:200]}' if said else ''}."


def _words(answer: Any) -> str:
    """The sentence in an error's JSON, wherever the service puts it."""
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, dict):
        return ""
    known = cast("dict[str, Any]", answer)
    return next(filter(None, (_words(known.get(key)) for key in ("detail", "message", "error"))), "")


def _results(backend: Backend, data: bytes, limit: int) -> tuple[SearchResult, ...]:
    try:
        found: Any = orjson.loads(data)
        for key in backend.results:
            found = found.get(key) or ([] if key == backend.results[-1] else {})
        entries = [cast("dict[str, Any]", entry) for entry in found if isinstance(entry, dict)]
    except (orjson.JSONDecodeError, AttributeError, TypeError) as error:
        raise SearchError(f"{backend.name} did not answer with search results.") from error
    return tuple(_result(backend, entry) for entry in entries if entry.get("url"))[:limit]


def _result(backend: Backend, entry: dict[str, Any]) -> SearchResult:
    def text(name: str) -> str:
        keys = backend.fields.get(name, (name,) if name in ("title", "url") else ())
        said = next((str(entry[key]) for key in keys if entry.get(key)), "")
        return html.unescape(_MARK.sub("", said)) if backend.marked_up and name in ("title", "snippet") else said

    return SearchResult(text("title"), text("url"), text("snippet"), text("date"), text("content"))
