"""Web searches through whichever service the user configured: Moonshot's, SearXNG, Brave or Tavily.

Each service is one function from a query to a request and one from its answer to results. No service: no search.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import orjson

from sould.agents.config import Service, Services
from sould.agents.web.fetching import client_for

MOST_ANSWER = 8 * 1024 * 1024
TIMEOUT = 30.0


class SearchError(Exception):
    """There are no results; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for; `content` asks for the pages' text too, where the service has it."""

    text: str
    limit: int = 5
    content: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page found."""

    title: str
    url: str
    snippet: str
    date: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Backend:
    """One kind of service. `ask` makes method, URL, query parameters, JSON body and headers."""

    name: str
    ask: Callable[[str, str, Query], tuple[str, str, dict[str, str], Any, dict[str, str]]]
    results: tuple[str, ...]
    """Where in the answer the list is."""
    fields: Mapping[str, str]
    base_url: str = ""


def _moonshot(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    body = {
        "text_query": query.text,
        "limit": query.limit,
        "enable_page_crawling": query.content,
        "timeout_seconds": int(TIMEOUT),
    }
    return "POST", base, {}, body, {"Authorization": f"Bearer {key}"}


def _searxng(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return "GET", f"{base}/search", {"q": query.text, "format": "json"}, None, headers


def _brave(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    parameters = {"q": query.text, "count": str(query.limit), "text_decorations": "false"}
    return "GET", f"{base}/res/v1/web/search", parameters, None, {"X-Subscription-Token": key}


def _tavily(base: str, key: str, query: Query) -> tuple[str, str, dict[str, str], Any, dict[str, str]]:
    body = {"query": query.text, "max_results": query.limit, "include_raw_content": query.content}
    return "POST", f"{base}/search", {}, body, {"Authorization": f"Bearer {key}"}


BACKENDS: Mapping[str, Backend] = {
    "moonshot_search": Backend(
        "Moonshot", _moonshot, ("search_results",), {"snippet": "snippet", "date": "date", "content": "content"}
    ),
    "searxng": Backend("SearXNG", _searxng, ("results",), {"snippet": "content", "date": "publishedDate"}),
    "brave": Backend(
        "Brave",
        _brave,
        ("web", "results"),
        {"snippet": "description", "date": "page_age"},
        "https://api.search.brave.com",
    ),
    "tavily": Backend(
        "Tavily",
        _tavily,
        ("results",),
        {"snippet": "content", "date": "published_date", "content": "raw_content"},
        "https://api.tavily.com",
    ),
}
"""By their keys in the configuration, the first that is configured is used."""


def configured(services: Services) -> tuple[Backend, Service] | None:
    """The service to search with."""
    for key, backend in BACKENDS.items():
        service: Service | None = getattr(services, key)
        if service is not None:
            return backend, service
    return None


def address(backend: Backend, service: Service) -> str:
    """Where the service is."""
    return (service.base_url or backend.base_url).rstrip("/")


async def search(
    backend: Backend, service: Service, query: Query, environment: Mapping[str, str]
) -> tuple[SearchResult, ...]:
    """Ask the service.

    Raises:
        SearchError
    """
    base = address(backend, service)
    method, url, parameters, body, headers = backend.ask(base, service.api_key.get_secret_value(), query)
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
    if response.status_code in (401, 403):
        raise SearchError(f"{backend.name} refused the key (status {response.status_code}).")
    if response.status_code != 200:
        raise SearchError(f"{backend.name} answered with status {response.status_code}.")
    return _results(backend, data, query.limit)


async def _read(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for data in response.aiter_raw():
        body += data
        if len(body) > MOST_ANSWER:
            raise SearchError("The answer of the search service is too large.")
    return bytes(body)


def _results(backend: Backend, data: bytes, limit: int) -> tuple[SearchResult, ...]:
    try:
        found: Any = orjson.loads(data)
        for key in backend.results:
            found = found.get(key) or ([] if key == backend.results[-1] else {})
        entries = [cast("dict[str, Any]", entry) for entry in found if isinstance(entry, dict)]
    except (orjson.JSONDecodeError, AttributeError, TypeError) as error:
        raise SearchError(f"{backend.name} did not answer with search results.") from error
    return tuple(_result(backend, entry) for entry in entries[:limit] if entry.get("url"))


def _result(backend: Backend, entry: dict[str, Any]) -> SearchResult:
    def text(key: str) -> str:
        return str(entry.get(key) or "") if key else ""

    fields = backend.fields
    return SearchResult(
        title=text("title"),
        url=text("url"),
        snippet=text(fields["snippet"]),
        date=text(fields.get("date", "")),
        content=text(fields.get("content", "")),
    )
